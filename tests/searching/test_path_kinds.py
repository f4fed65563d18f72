"""Kinds of files by their paths, as people name them."""

import pytest

from structkit.searching.kinds import KINDS, kind_of


@pytest.mark.parametrize(
    ("kind", "paths"),
    [
        ("code", "src/pool.c lib/changes.py tools/release.sh app/news.rb spectrum.go"),
        ("settings", "pyproject.toml .github/ci.yml Makefile web/site.css"),
        ("manual", "README README.md docs/pool.rst tests/README.md docs/jq.1 guide.html"),
        ("notes", "CHANGES HISTORY.rst docs/release-notes.md NEWS.txt UPGRADING.md ChangeLog"),
        ("notes", "docs/migration_guide.md docs/whatsnew/2.0.rst CHANGELOG-v2.md"),
        ("legal", "LICENSE COPYING.txt docs/license.rst NOTICE AUTHORS.md"),
        ("translation", "README.zh-CN.md docs/ja/index.md README_KO.md book/fr/ch01.html"),
        ("test", "tests/pool.c src/PoolTest.java a.spec.ts fixtures/page.html test/notes.txt"),
        ("example", "examples/serve.go _examples/rest/main.go docs/conf.py"),
        ("copy", "vendor/zlib/inflate.c single_include/json.hpp node_modules/a/index.js"),
        ("generated", "Cargo.lock web/app.min.js api/pool.pb.go App.xcodeproj/project.pbxproj"),
        ("generated", "jq.1.prebuilt go.sum logo.svg src/__snapshots__/a.snap package-lock.json"),
        ("compatibility", "pkg/_compat.py legacy/pool.js"),
    ],
)
def test_a_path_tells_the_kind(kind, paths):
    assert dict.fromkeys(paths.split(), kind) == {path: kind_of(path) for path in paths.split()}
    assert kind in KINDS
