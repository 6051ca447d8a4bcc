from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from assets.publishing.files import StorageError, link_or_copy, link_tree, storage, write_json
from tests.storekit import files


def test_a_json_file_is_replaced_whole_and_no_temporary_stays(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_json(target, {"b": 1, "a": "ü"})
    assert json.loads(target.read_text()) == {"a": "ü", "b": 1}
    with pytest.raises(TypeError):
        write_json(target, {"a": object()})
    assert json.loads(target.read_text()) == {"a": "ü", "b": 1}
    assert os.listdir(tmp_path) == ["a.json"]


def test_linking_onto_an_existing_name_replaces_it_even_by_itself(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("new")
    target.write_text("old")
    for _ in range(2):
        assert link_or_copy(source, target)
        assert source.stat().st_ino == target.stat().st_ino
        assert sorted(os.listdir(tmp_path)) == ["s", "t"]


def test_a_linked_tree_has_the_same_files_in_directories_of_its_own(tmp_path: Path) -> None:
    source = tmp_path / "s"
    (source / "a" / "b").mkdir(parents=True)
    (source / "empty").mkdir()
    (source / "a" / "b" / "f").write_text("x")
    assert link_tree(source, tmp_path / "t") == 1
    assert files(tmp_path / "t") == files(source)
    assert (tmp_path / "t" / "empty").is_dir()
    (tmp_path / "t" / "a" / "g").write_text("y")
    (tmp_path / "t" / "a" / "b" / "f").unlink()
    assert list(files(source)) == ["a/b/f"]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [(errno.ENOSPC, "Free space"), (errno.EROFS, "writable"), (errno.EIO, "Check the disk")],
)
def test_a_refusal_of_the_disk_names_path_and_remedy(
    tmp_path: Path, code: int, remedy: str
) -> None:
    with pytest.raises(StorageError) as caught, storage(tmp_path / "x"):
        raise OSError(code, "whatever")
    assert str(tmp_path / "x") in caught.value.message
    assert os.strerror(code) in caught.value.message
    assert remedy in caught.value.remedy
