import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.util.List;
import javax.tools.*;

/** The name and the comment of each method of the files, as javac attaches them. */
class Docs {
  public static void main(String[] paths) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
    var task = (JavacTask) compiler.getTask(
        null, files, any -> {}, List.of("-proc:none"), null, files.getJavaFileObjects(paths));
    for (CompilationUnitTree unit : task.parse()) {
      new TreePathScanner<Void, Void>() {
        @Override public Void visitMethod(MethodTree method, Void none) {
          String comment = DocTrees.instance(task).getDocComment(getCurrentPath());
          String words = comment == null ? "" : comment.strip().replace("\n", "\\n");
          if (Trees.instance(task).getSourcePositions().getStartPosition(unit, method) >= 0) {
            System.out.println(method.getName() + "\t" + words);
          }
          return super.visitMethod(method, none);
        }
      }.scan(unit, null);
    }
  }
}
