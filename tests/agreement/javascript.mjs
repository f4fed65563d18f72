// Names by acorn: node javascript.mjs < rows.jsonl   (npm install acorn, anywhere on NODE_PATH)
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
const acorn = createRequire(process.env.AGREEMENT_MODULES ?? import.meta.url)("acorn");
const options = {
  ecmaVersion: "latest", sourceType: "module", allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true, allowSuperOutsideMethod: true, allowImportExportEverywhere: true,
};
const SCRIPT = { ...options, sourceType: "script" };
function read(code) {
  const ways = [["", ""], ["class A {", "\n}"], ["class A extends B {", "\n}"]];
  for (const o of [options, SCRIPT])
    for (const [head, tail] of ways)
      try { return [acorn.parse(head + code + tail, o), head.length]; } catch { /* next */ }
  return null;
}
function walk(node, found) {
  if (Array.isArray(node)) { for (const each of node) walk(each, found); return; }
  if (!node || typeof node.type !== "string") return;
  if (node.type === "TemplateLiteral" || node.type === "MetaProperty") return;
  if (node.type === "Identifier" || node.type === "PrivateIdentifier") {
    if (node.name !== "undefined") found.set(node.start, node.end);
    return;
  }
  for (const key of Object.keys(node)) if (key !== "loc" && key !== "range") walk(node[key], found);
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, code } = JSON.parse(line);
  const made = read(code);
  if (!made) { console.log(JSON.stringify({ id, names: null })); continue; }
  const found = new Map();
  walk(made[0], found);
  const names = [...found].map(([a, b]) => [a - made[1], b - made[1]]).filter(([a]) => a >= 0)
    .sort((x, y) => x[0] - y[0]).map(([a, b]) => code.slice(a, b));
  console.log(JSON.stringify({ id, names }));
}
