// Names by javac, without those of types:
// java --add-exports=jdk.compiler/com.sun.tools.javac.parser=ALL-UNNAMED \
//      --add-exports=jdk.compiler/com.sun.tools.javac.util=ALL-UNNAMED tests/agreement/Names.java
import com.sun.source.tree.*;
import com.sun.source.util.*;
import com.sun.tools.javac.parser.*;
import com.sun.tools.javac.util.Context;
import java.io.*;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.*;
import javax.tools.*;

public class Names {
    static final String HEAD = "class A {";

    public static void main(String[] args) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line; (line = lines.readLine()) != null; ) {
            String id = field(line, "id"), code = field(line, "code");
            List<String> names = names(code);
            out.println("{\"id\": \"" + id + "\", \"names\": "
                + (names == null ? "null" : "[" + String.join(", ", names.stream().map(n -> '"' + n + '"').toList()) + "]") + "}");
        }
        out.flush();
    }

    static List<String> names(String code) throws IOException {
        String text = HEAD + code + "\n}";
        var source = new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
            @Override public CharSequence getCharContent(boolean ignore) { return text; }
        };
        var problems = new DiagnosticCollector<JavaFileObject>();
        var task = (JavacTask) ToolProvider.getSystemJavaCompiler()
            .getTask(null, null, problems, List.of("-proc:none"), null, List.of(source));
        var unit = task.parse().iterator().next();
        if (problems.getDiagnostics().stream().anyMatch(d -> d.getKind() == Diagnostic.Kind.ERROR)) return null;
        var hidden = new BitSet();
        var positions = Trees.instance(task).getSourcePositions();
        new TreeScanner<Void, Void>() {
            void hide(Tree tree) {
                if (tree == null) return;
                long start = positions.getStartPosition(unit, tree), end = positions.getEndPosition(unit, tree);
                if (start >= 0 && end > start) hidden.set((int) start, (int) end);
            }
            void hide(Iterable<? extends Tree> trees) { for (Tree each : trees) hide(each); }
            @Override public Void visitVariable(VariableTree t, Void v) { hide(t.getType()); return super.visitVariable(t, v); }
            @Override public Void visitMethod(MethodTree t, Void v) { hide(t.getReturnType()); hide(t.getThrows()); hide(t.getTypeParameters()); return super.visitMethod(t, v); }
            @Override public Void visitNewClass(NewClassTree t, Void v) { hide(t.getIdentifier()); return super.visitNewClass(t, v); }
            @Override public Void visitNewArray(NewArrayTree t, Void v) { hide(t.getType()); return super.visitNewArray(t, v); }
            @Override public Void visitTypeCast(TypeCastTree t, Void v) { hide(t.getType()); return super.visitTypeCast(t, v); }
            @Override public Void visitInstanceOf(InstanceOfTree t, Void v) { hide(t.getType()); return super.visitInstanceOf(t, v); }
            @Override public Void visitParameterizedType(ParameterizedTypeTree t, Void v) { hide(t); return super.visitParameterizedType(t, v); }
            @Override public Void visitAnnotation(AnnotationTree t, Void v) { hide(t.getAnnotationType()); return super.visitAnnotation(t, v); }
            @Override public Void visitMethodInvocation(MethodInvocationTree t, Void v) { hide(t.getTypeArguments()); return super.visitMethodInvocation(t, v); }
            @Override public Void visitArrayType(ArrayTypeTree t, Void v) { hide(t); return super.visitArrayType(t, v); }
            @Override public Void visitClass(ClassTree t, Void v) { hide(t.getExtendsClause()); hide(t.getImplementsClause()); hide(t.getTypeParameters()); return super.visitClass(t, v); }
            @Override public Void visitMemberSelect(MemberSelectTree t, Void v) { if (t.getIdentifier().contentEquals("class")) hide(t.getExpression()); return super.visitMemberSelect(t, v); }
        }.scan(unit, null);
        var found = new ArrayList<String>();
        var scanner = ScannerFactory.instance(new Context()).newScanner(text, false);
        for (scanner.nextToken(); scanner.token().kind != Tokens.TokenKind.EOF; scanner.nextToken()) {
            var token = scanner.token();
            if (token.kind == Tokens.TokenKind.IDENTIFIER && token.pos > HEAD.length() - 1
                && !hidden.get(token.pos) && !token.name().contentEquals("var")) found.add(token.name().toString());
        }
        return found;
    }

    /** A string of a flat JSON object: enough for these rows. */
    static String field(String line, String name) {
        int at = line.indexOf("\"" + name + "\": \"") + name.length() + 5;
        var text = new StringBuilder();
        for (; line.charAt(at) != '"'; at++) {
            char c = line.charAt(at);
            if (c != '\\') { text.append(c); continue; }
            c = line.charAt(++at);
            switch (c) {
                case 'n' -> text.append('\n');
                case 't' -> text.append('\t');
                case 'r' -> text.append('\r');
                case 'b' -> text.append('\b');
                case 'f' -> text.append('\f');
                case 'u' -> { text.append((char) Integer.parseInt(line.substring(at + 1, at + 5), 16)); at += 4; }
                default -> text.append(c);
            }
        }
        return text.toString();
    }
}
