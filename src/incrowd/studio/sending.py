"""Files for the owner to keep: always saved by the browser, never shown, and under names of ours."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

from starlette.responses import Response


def send(content: bytes, name: str, media_type: str) -> Response:
    """Return a file to save."""
    return Response(content, media_type=media_type, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths in it."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def packed(files: Mapping[str, bytes], inside: str) -> bytes:
    """Return files as a zip file; they lie in a folder, and tell no time and no user."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"{inside}/{name}")
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()
