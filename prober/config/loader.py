"""From a YAML file to settings: all problems at once, each with its place, no value ever shown."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

from prober.config import checks, rules, wording
from prober.config.document import Document, SyntaxProblemError, parse
from prober.config.notifications import (
    MAX_RECEIVERS,
    SECRETS,
    ReceiverSettings,
    is_secret,
    receiver_objections,
    self_test_objections,
)
from prober.config.problems import TOP, InvalidConfigError, Location, Problem
from prober.config.retention import retention_objections
from prober.config.rules import Known
from prober.config.schedules import schedule_objections
from prober.config.schema import Settings, TargetSettings, TenantSettings, known_part, section_at
from prober.config.secret import Secret
from prober.config.secret_files import EXPOSED, SecretFileError, is_exposed, read_secret
from prober.config.substitution import Substitution
from prober.config.vault import VaultSettings, vault_key
from prober.domain.self_test import SELF_TEST

MAX_FILE_BYTES = 1024 * 1024

Valid = TypeVar("Valid", bound=BaseModel)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """Settings that can be used, and what is still worth a look."""

    settings: Settings
    """Paths absolute, secrets read, every tenant numbered, scenarios named."""
    warnings: tuple[str, ...]
    """`file:line:column: dotted.path: message`, without values."""


def load_settings(
    path: Path, environment: Mapping[str, str], *, known_dialects: Sequence[str], known_scenarios: Sequence[str]
) -> LoadedSettings:
    """Load one configuration file. Relative paths in it start at its own directory.

    Raises:
        InvalidConfigError: with every problem found, each as `file:line:column: dotted.path: message`.
    """
    known = Known(dialects=tuple(known_dialects), scenarios=tuple(known_scenarios))
    try:
        document = parse(_read(path))
    except SyntaxProblemError as error:
        raise InvalidConfigError(str(path), [error.problem]) from None
    return _Loading(path, document, environment, known).settings()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise _unreadable(f"cannot be read: {error.strerror or type(error).__name__}") from None
    if len(content) > MAX_FILE_BYTES:
        raise _unreadable(f"is larger than {MAX_FILE_BYTES} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unreadable("is no UTF-8 text") from None


def _unreadable(message: str) -> SyntaxProblemError:
    return SyntaxProblemError(Problem(mark=TOP, location=(), message=message))


def _shown(problem: Problem) -> Problem:
    """Cut the path where keys begin that the schema does not know: such a key may be a misplaced credential."""
    return dataclasses.replace(problem, location=known_part(problem.location))


class _Loading:
    """One file on its way; problems gather until the end."""

    def __init__(self, path: Path, document: Document, environment: Mapping[str, str], known: Known) -> None:
        self._path = path
        self._base = path.resolve().parent
        self._document = document
        self._known = known
        substitution = Substitution(document, environment)
        self._content = substitution.apply()
        self._literals = substitution.literals
        self._problems = [*document.problems, *substitution.problems]
        self._warnings: list[Problem] = []

    def settings(self) -> LoadedSettings:
        targets = self._targets()
        # Targets are judged one by one above; here they only have to be there.
        stand_in: dict[str, object] = {"targets": {}} if "targets" in self._content else {}
        head = self._valid(Settings, {**self._content, **stand_in}, ())
        for location, message in checks.number_objections(targets):
            self._object(("targets", *location), message)
        if head is not None:
            for location, message in checks.budget_objections(head.budgets, targets):
                self._object(("budgets", *location), message)
            named = self._content["targets"]
            for location, message in schedule_objections(head.schedules, named if isinstance(named, dict) else targets):
                self._object(("schedules", *location), message)
            for location, message in retention_objections(head.retention):
                self._object(("retention", *location), message)
        database = self._database()
        vault = None if head is None else self._vault(head.vault)
        receivers = {} if head is None else self._receivers(head.notifications)
        if self._problems or head is None:
            raise InvalidConfigError(str(self._path), [_shown(problem) for problem in self._problems])
        key_file = self._base / head.key_file
        if is_exposed(key_file):
            self._warn(("key_file",), EXPOSED)
        update = {
            "targets": checks.number_tenants(targets),
            "key_file": key_file,
            "vault": vault,
            "notifications": receivers,
            "database": rules.database_at(self._base, database or head.database),
        }
        warnings = sorted(self._warnings, key=lambda warning: warning.mark)
        return LoadedSettings(
            settings=head.model_copy(update=update),
            warnings=tuple(_shown(warning).render(str(self._path)) for warning in warnings),
        )

    def _targets(self) -> dict[str, TargetSettings]:
        raw = self._content.get("targets")
        found: dict[str, TargetSettings] = {}
        if not isinstance(raw, dict):
            if "targets" in self._content:
                self._object(("targets",), "must be a mapping of names to targets")
            return found
        if not raw:
            self._object(("targets",), "needs at least one target")
        for name, fields in raw.items():
            location = ("targets", name)
            if not rules.is_name(name):
                self._object(("targets",), "a target's name must be 1 to 63 letters, digits, - or _", key=location)
            elif name == SELF_TEST:
                self._object(location, "is the name of the service's own self-test; choose another", key=location)
            target = self._target(fields, location)
            if target is not None:
                found[name] = target
        return found

    def _target(self, fields: object, location: Location) -> TargetSettings | None:
        tenants = self._tenants(fields, location)
        target = self._valid(TargetSettings, fields, location)
        if target is None:
            return None
        for place, message in checks.target_objections(target, self._base):
            self._object((*location, *place), message)
        if rules.is_plain_http(target.url):
            self._warn((*location, "url"), "credentials and prompts would cross the network unencrypted")
        files = {
            name: self._base / getattr(target, name)
            for name in ("ca_file", "client_cert", "client_key")
            if getattr(target, name) is not None
        }
        scenarios = self._known.scenarios if target.scenarios is None else target.scenarios
        return target.model_copy(update={**files, "tenants": tuple(tenants.values()), "scenarios": scenarios})

    def _tenants(self, fields: object, location: Location) -> dict[int, TenantSettings]:
        """Check tenants by themselves, so that a target's other faults do not hide theirs."""
        raw = fields.get("tenants") if isinstance(fields, dict) else None
        if not isinstance(raw, list):
            return {}
        place = (*location, "tenants")
        tenants: dict[int, TenantSettings] = {}
        for index, item in enumerate(raw):
            tenant = self._valid(TenantSettings, item, (*place, index))
            if tenant is not None:
                tenants[index] = self._with_credential(tenant, (*place, index))
        for below, message in checks.tenants_objections(tenants, len(raw)):
            self._object((*place, *below), message)
        return tenants

    def _with_credential(self, tenant: TenantSettings, location: Location) -> TenantSettings:
        objections = list(checks.tenant_objections(tenant))
        for below, message in objections:
            self._object((*location, *below), message)
        if (*location, "credential") in self._literals:
            self._warn((*location, "credential"), "stands here in plain text; use ${NAME} or credential_file")
        if objections or tenant.credential_file is None:
            return tenant
        secret = self._secret_file(tenant.credential_file, (*location, "credential_file"), rules.credential)
        return tenant.model_copy(update={"credential": secret})

    def _database(self) -> Secret | None:
        """Read the database URL from its own file, where one is named; None where none is, or it cannot be used."""
        path = self._content.get("database_url_file")
        place = ("database_url_file",)
        if not isinstance(path, str):
            return None
        if "database" in self._content:
            self._object(place, "stands beside database; keep one of them")
            return None
        return self._secret_file(Path(path), place, rules.database)

    def _vault(self, vault: VaultSettings) -> VaultSettings:
        """Read the vault's keyring from its own file, where one is named."""
        place = ("vault", "key_file")
        if ("vault", "key") in self._literals:
            self._warn(("vault", "key"), "stands here in plain text; use ${NAME} or key_file")
        if vault.key_file is None:
            return vault
        if vault.key is not None:
            self._object(place, "stands beside key; keep one of them")
            return vault
        key = self._secret_file(vault.key_file, place, vault_key)
        return vault.model_copy(update={"key": key, "key_file": self._base / vault.key_file})

    def _receivers(self, receivers: Mapping[str, ReceiverSettings]) -> dict[str, ReceiverSettings]:
        if len(receivers) > MAX_RECEIVERS:
            self._object(("notifications",), f"holds more than {MAX_RECEIVERS} receivers")
        for place, message in self_test_objections(receivers):
            self._object(("notifications", *place), message)
        return {name: self._receiver(name, receiver) for name, receiver in receivers.items()}

    def _receiver(self, name: str, receiver: ReceiverSettings) -> ReceiverSettings:
        """Check one receiver, and read from their files what stands in files of its own."""
        place = ("notifications", name)
        if not rules.is_name(name):
            self._object(("notifications",), "a receiver's name must be 1 to 63 letters, digits, - or _", key=place)
        named = self._content.get("targets")
        targets = named if isinstance(named, dict) else ()
        for below, message in receiver_objections(receiver, targets, self._base):
            self._object((*place, *below), message)
        update: dict[str, object] = {}
        for key, rule in SECRETS.items():
            path = getattr(receiver, f"{key}_file")
            if (*place, key) in self._literals and is_secret(receiver, key):
                self._warn((*place, key), f"stands here in plain text; use ${{NAME}} or {key}_file")
            if path is not None:
                update[key] = self._secret_file(path, (*place, f"{key}_file"), rule)
        if receiver.ca_file is not None:
            update["ca_file"] = self._base / receiver.ca_file
        read = receiver.model_copy(update=update)
        if read.url is not None and rules.is_plain_http(read.url.reveal()):
            self._warn((*place, "url"), "notices would cross the network unencrypted")
        return read

    def _secret_file(self, path: Path, location: Location, rule: Callable[[Secret], Secret]) -> Secret | None:
        """Read a secret and hold it to its rule; None, with a problem noted, where it cannot be used."""
        try:
            found = read_secret(self._base / path)
            rule(found.secret)
        except SecretFileError as error:
            self._object(location, str(error))
            return None
        except PydanticCustomError as error:
            self._object(location, error.message())
            return None
        if found.is_exposed:
            self._warn(location, EXPOSED)
        return found.secret

    def _valid(self, section: type[Valid], fields: object, location: Location) -> Valid | None:
        """Validate one section; None, with its faults noted, where it cannot be used."""
        try:
            return section.model_validate(fields, context=self._known)
        except ValidationError as error:
            for fault in error.errors(include_input=False, include_url=False):
                self._fault(fault["type"], fault.get("ctx", {}), (*location, *fault["loc"]))
            return None

    def _fault(self, kind: str, context: Mapping[str, Any], location: Location) -> None:
        if kind == "missing":
            self._object(location, wording.message(kind, context), key=location[:-1])
        elif kind == "extra_forbidden":
            key = str(location[-1])
            self._object(location, wording.unknown_key(key, section_at(location[:-1])), key=location)
        else:
            self._object(location, wording.message(kind, context))

    def _object(self, location: Location, message: str, *, key: Location | None = None) -> None:
        """Note a problem, unless this very place has one: what could not be filled in is not judged as well."""
        if any(problem.location == location for problem in self._problems):
            return
        mark = self._document.mark_of(location) if key is None else self._document.mark_of_key(key)
        self._problems.append(Problem(mark=mark, location=location, message=message))

    def _warn(self, location: Location, message: str) -> None:
        self._warnings.append(Problem(mark=self._document.mark_of(location), location=location, message=message))
