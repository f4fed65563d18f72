"""Files of keys and passwords are not read unless they are named or asked for."""

import pytest

import structkit
from structkit.asking.path_kinds import is_key_file
from tests.jsonl import write_files

KEYS = "id_rsa id_rsa.old a/id_ed25519_sk server.pem tls.KEY x.p12 prod.env .env.local credentials"
KEYS += " credentials.json app-secrets.yaml db_passwords.txt secrets.toml k8s/secret.yml .npmrc"
KEYS += " kubeconfig service-account-prod.json"
OTHERS = "id_rsa_parser.go secrets.py credentials.md keys.py environment.py pem.rs monkey.py env.ts"


@pytest.mark.parametrize("path", KEYS.split())
def test_files_of_keys(path):
    assert is_key_file(path)


@pytest.mark.parametrize("path", OTHERS.split())
def test_other_files(path):
    assert not is_key_file(path)


def test_they_are_counted_and_not_read(tmp_path, capsys):
    files = {path: f"hot coffee {number}" for number, path in enumerate(("a.pem", "credentials"))}
    key = "-----BEGIN RSA PRIVATE KEY-----\nhot coffee\n"
    write_files(tmp_path, {**files, "other.txt": key, "coffee.txt": "Hot coffee is brewed.\n"})

    def paths(*folders, **options):
        found = structkit.ask(*folders, "hot coffee", no_cache=True, no_model=True, **options)
        return {each["path"].removeprefix(f"{tmp_path}/") for each in found}

    assert {"coffee.txt"} == paths(tmp_path)
    assert "skipped 3 (3 x with keys or passwords)" in capsys.readouterr().err
    assert {*files, "other.txt", "coffee.txt"} == paths(tmp_path, secrets=True)
    assert {"a.pem"} <= {path.split("/")[-1] for path in paths(tmp_path / "a.pem")}
