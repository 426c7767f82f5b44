"""Keys: one of the installation's own, or a person's SSH key."""

import subprocess
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError
from damascus.system.signing import (
    check,
    encoded,
    known_keys,
    make_key,
    own_key,
    public_key,
    signed,
    use_ssh_key,
)

KIND = "application/x"


def ssh_key(folder: Path) -> Path:
    file = folder / "id_ed25519"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", str(file)]
    subprocess.run(words, check=True, start_new_session=True)
    return file


@pytest.mark.req("X7.1")
@pytest.mark.parametrize("kind", ["own", "ssh"])
def test_a_signature_is_of_this_payload_and_kind_by_this_key(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    public = make_key(home) if kind == "own" else use_ssh_key(home, ssh_key(tmp_path))
    made = signed(home, KIND, b"payload")
    assert made is not None
    key = public_key(public)
    assert made.keyid == key.keyid and [one.keyid for one in known_keys(home)] == [key.keyid]
    assert check(made, KIND, b"payload", [key]) is True
    assert check(made, KIND, b"Payload", [key]) is False
    assert check(made, "application/y", b"payload", [key]) is False
    for at in range(0, len(made.sig) - 4, 17):
        other = made.sig[:at] + ("A" if made.sig[at] != "A" else "B") + made.sig[at + 1 :]
        assert key.verifies(encoded(KIND, b"payload"), other) is False
    stranger = public_key(make_key(tmp_path / "elsewhere"))
    assert check(made, KIND, b"payload", [stranger]) is None


def test_a_key_is_made_once_is_private_and_without_one_nothing_is_signed(tmp_path: Path) -> None:
    assert own_key(tmp_path) is None and signed(tmp_path, KIND, b"x") is None and known_keys(tmp_path) == []
    first = public_key(make_key(tmp_path)).keyid
    assert public_key(make_key(tmp_path)).keyid == first
    assert (tmp_path / "receipt-key/private.pem").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE" not in (tmp_path / "receipt-key/public.json").read_text()


def test_what_is_no_key_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk\n")
    with pytest.raises(DamascusError, match="is no public key"):
        public_key(tmp_path / "junk")
    with pytest.raises(DamascusError, match="not both there"):
        use_ssh_key(tmp_path, tmp_path / "junk")
