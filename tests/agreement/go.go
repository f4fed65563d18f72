// Names by go/parser, without those of types: go run go.go < rows.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"sort"
)

type row struct {
	ID   string `json:"id"`
	Code string `json:"code"`
}

var nothing = map[string]bool{"_": true, "nil": true, "true": true, "false": true, "iota": true}

// types marks the identifiers of a type expression; the package of pkg.Foo is a name.
func types(node ast.Node, marked map[token.Pos]bool) {
	if node == nil {
		return
	}
	ast.Inspect(node, func(each ast.Node) bool {
		switch n := each.(type) {
		case *ast.Ident:
			marked[n.Pos()] = true
		case *ast.SelectorExpr:
			marked[n.Sel.Pos()] = true
			return false
		case *ast.ArrayType:
			types(n.Elt, marked)
			return false // a length is an expression
		case *ast.Field:
			types(n.Type, marked)
			return false // names of fields and parameters are names
		}
		return true
	})
}

func names(code string) []string {
	files := token.NewFileSet()
	head := "package p;"
	file, err := parser.ParseFile(files, "", head+code, 0)
	if err != nil {
		return nil
	}
	base := files.File(file.Pos()).Base()
	marked := map[token.Pos]bool{file.Name.Pos(): true}
	spec := func(list *ast.FieldList) {
		if list != nil {
			for _, field := range list.List {
				types(field.Type, marked)
			}
		}
	}
	found := map[int]string{}
	ast.Inspect(file, func(each ast.Node) bool {
		switch n := each.(type) {
		case *ast.FuncType:
			spec(n.Params)
			spec(n.Results)
			if n.TypeParams != nil {
				for _, field := range n.TypeParams.List {
					for _, name := range field.Names {
						marked[name.Pos()] = true
					}
					types(field.Type, marked)
				}
			}
		case *ast.FuncDecl:
			spec(n.Recv)
		case *ast.StructType:
			spec(n.Fields)
		case *ast.InterfaceType:
			spec(n.Methods)
		case *ast.ValueSpec:
			types(n.Type, marked)
		case *ast.TypeSpec:
			marked[n.Name.Pos()] = true
			types(n.Type, marked)
		case *ast.CompositeLit:
			types(n.Type, marked)
		case *ast.TypeAssertExpr:
			types(n.Type, marked)
		case *ast.ArrayType:
			types(n, marked)
		case *ast.MapType:
			types(n, marked)
		case *ast.ChanType:
			types(n, marked)
		case *ast.TypeSwitchStmt:
			for _, clause := range n.Body.List {
				for _, each := range clause.(*ast.CaseClause).List {
					types(each, marked)
				}
			}
		case *ast.CallExpr: // make and new take a type
			if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "new" || name.Name == "make") {
				types(n.Args[0], marked)
			}
		case *ast.Ident:
			if !nothing[n.Name] {
				found[int(n.Pos())-base] = n.Name
			}
		}
		return true
	})
	places := []int{}
	for place := range found {
		if !marked[token.Pos(place+base)] && place >= len(head) {
			places = append(places, place)
		}
	}
	sort.Ints(places)
	list := []string{}
	for _, place := range places {
		list = append(list, found[place])
	}
	return list
}

func main() {
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var each row
		if json.Unmarshal(scanner.Bytes(), &each) == nil {
			line, _ := json.Marshal(map[string]any{"id": each.ID, "names": names(each.Code)})
			fmt.Println(string(line))
		}
	}
}
