"""The configuration's section `vault`: whether foreign text is kept, under which key, and how much of it."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.secret import Secret
from prober.config.section import Section
from prober.domain.errors import KeyringError
from prober.domain.excerpt import ExcerptBounds
from prober.domain.vault_keyring import VaultKeyring


def vault_key(value: Secret) -> Secret:
    """A vault keyring, as `prober vault key new` writes it."""
    try:
        VaultKeyring.from_json(value.reveal())
    except KeyringError as error:
        raise rules.wrong(str(error)) from None
    return value


class VaultSettings(Section):
    """The evidence vault. Without a key only hashes and lengths of foreign text are kept."""

    key: Annotated[Secret, AfterValidator(vault_key)] | None = None
    """The vault keyring itself; usually `${SOME_VARIABLE}`."""
    key_file: Path | None = None
    """File that holds the vault keyring."""
    excerpt_characters: Annotated[int, Field(ge=16, le=4_000)] = ExcerptBounds().excerpt
    """Most characters of one excerpt."""
    finding_characters: Annotated[int, Field(ge=16, le=16_000)] = ExcerptBounds().finding
    """Most characters of all excerpts of one finding."""

    @property
    def keyring(self) -> VaultKeyring | None:
        """Keys to seal with and to open with; None: there are none."""
        return None if self.key is None else VaultKeyring.from_json(self.key.reveal())

    @property
    def bounds(self) -> ExcerptBounds:
        """How much may be kept."""
        return ExcerptBounds(excerpt=self.excerpt_characters, finding=self.finding_characters)
