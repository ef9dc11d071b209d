"""The variables of NCCL's environment that its choices depend on, read as NCCL reads them."""

from collections.abc import Callable, Iterable, Sequence

from hocket._core.nccl import Settings
from hocket.base.errors import FormatError
from hocket.base.strict_yaml import nearest
from hocket.nccl.names import ALGORITHMS, COLLECTIVES, PATH_TYPES, PROTOCOLS
from hocket.nccl.releases import NEWEST, Release

__all__ = ["VARIABLES", "Settings", "read_settings"]

_LEVELS = {name: number for number, name in enumerate(PATH_TYPES[:10])}  # up to SYS
_OLD_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS", "SYS")  # numbers that versions before 2.5 took
_SHARE, _ALL, _AT_MOST = range(3)


def _number(field: str, least: int, most: int) -> Callable[[Settings, str], None]:
    def read(settings: Settings, text: str) -> None:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise FormatError(f"expected a whole number from {least} to {most}")
        setattr(settings, field, number)

    return read


def _level(field: str) -> Callable[[Settings, str], None]:
    def read(settings: Settings, text: str) -> None:
        name = _OLD_LEVELS[min(int(text), 5)] if text.isdecimal() else text
        if name not in _LEVELS:
            raise FormatError(f"expected one of {', '.join(_LEVELS)}")
        setattr(settings, field, _LEVELS[name])

    return read


def _p2p_disable(settings: Settings, text: str) -> None:
    if text not in ("0", "1"):
        raise FormatError("expected 0 or 1")
    if text == "1":
        settings.p2p_level = _LEVELS["LOC"]


def _net_devices(settings: Settings, text: str) -> None:
    word, _, most = text.upper().partition(":")
    if word == "MAX" and most.isdecimal() and 1 <= int(most) <= 64:
        settings.net_devices, settings.most_net_devices = _AT_MOST, int(most)
    elif text.upper() in ("AUTO", "ALL"):
        settings.net_devices = _ALL if word == "ALL" else _SHARE
    else:
        raise FormatError("expected AUTO, ALL or MAX:N")


def _thresholds(settings: Settings, text: str) -> None:
    words = text.split()
    if not 1 <= len(words) <= 6 or not all(word.isdecimal() and int(word) < 2**31 for word in words):
        raise FormatError("expected up to six bytes a thread: of Tree with LL, LL128, Simple, then of Ring")
    of_tree, of_ring = ([int(word) for word in part] for part in (words[:3], words[3:]))
    tree, ring = ([*part, *[-2] * (3 - len(part))] for part in (of_tree, of_ring))
    settings.thread_thresholds = [tree, ring]


def _allowed(field: str, names: Sequence[str]) -> Callable[[Settings, str], None]:
    """`ring,tree`, `^LL`, `ring;allreduce:tree`: of the first part the collective may lack."""

    def read(settings: Settings, text: str) -> None:
        table = [list(row) for row in getattr(settings, field)]
        for at, part in enumerate(text.split(";")):
            collective, colon, listed = part.rpartition(":")
            if not colon and at > 0:
                raise FormatError(f"'{part}': every part but the first names a collective, as in allreduce:tree")
            rows = [_index(collective, COLLECTIVES)] if colon else range(len(COLLECTIVES))
            unlisted = int(listed.startswith("^"))
            chosen = {_index(name, names) for name in listed.removeprefix("^").split(",")}
            for row in rows:
                table[row] = [1 - unlisted if column in chosen else unlisted for column in range(len(names))]
        setattr(settings, field, table)

    return read


def _index(name: str, names: Sequence[str]) -> int:
    lower = [known.lower() for known in names]
    if name.lower() not in lower:
        raise FormatError(f"'{name}': no such name; {nearest(name, names)}")
    return lower.index(name.lower())


# name: how its value is read; the later of two that set the same wins, as the newer name does in NCCL
VARIABLES: dict[str, Callable[[Settings, str], None]] = {
    "NCCL_ALGO": _allowed("algorithms", ALGORITHMS),
    "NCCL_PROTO": _allowed("protocols", PROTOCOLS),
    "NCCL_MIN_NRINGS": _number("min_channels", 0, 64),
    "NCCL_MAX_NRINGS": _number("max_channels", 1, 64),
    "NCCL_MIN_NCHANNELS": _number("min_channels", 0, 64),
    "NCCL_MAX_NCHANNELS": _number("max_channels", 1, 64),
    "NCCL_MIN_CTAS": _number("min_ctas", 1, 64),
    "NCCL_MAX_CTAS": _number("max_ctas", 1, 64),
    "NCCL_COLLNET_ENABLE": _number("collnet_enable", 0, 1),
    "NCCL_COLLNET_NODE_THRESHOLD": _number("collnet_threshold", 0, 2**31 - 1),
    "NCCL_NVLS_ENABLE": _number("nvls_enable", 0, 2),
    "NCCL_NVLS_NCHANNELS": _number("nvls_channels", 1, 64),
    "NCCL_PAT_ENABLE": _number("pat_enable", 0, 2),
    "NCCL_CROSS_NIC": _number("cross_nic", 0, 2),
    "NCCL_NETDEVS_POLICY": _net_devices,
    "NCCL_P2P_LEVEL": _level("p2p_level"),
    "NCCL_P2P_DISABLE": _p2p_disable,
    "NCCL_NVB_DISABLE": _number("nvb_disable", 0, 1),
    "NCCL_NET_GDR_LEVEL": _level("net_gdr_level"),
    "NCCL_NET_GDR_READ": _number("net_gdr_read", 0, 1),
    "NCCL_NET_GDR_C2C": _number("net_gdr_c2c", 0, 1),
    "NCCL_PXN_DISABLE": _number("pxn_disable", 0, 1),
    "NCCL_PXN_C2C": _number("pxn_c2c", 0, 1),
    "NCCL_LL128_C2C": _number("ll128_c2c", 0, 1),
    "NCCL_NET_OVERHEAD": _number("net_overhead_ns", 0, 10**9),
    "NCCL_NTHREADS": _number("threads", 1, 1024),
    "NCCL_LL128_NTHREADS": _number("ll128_threads", 1, 1024),
    "NCCL_THREAD_THRESHOLDS": _thresholds,
}


def read_settings(assignments: Iterable[str], release: Release = NEWEST) -> Settings:
    """The settings of `NAME=VALUE`s, as a release reads them. Raises FormatError for a name that the model does not
    depend on or NCCL does not know, given twice, or with a value that NCCL would not take as it stands."""
    values: dict[str, str] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise FormatError(f"'{assignment}': expected NAME=VALUE, as in NCCL_NVLS_ENABLE=0")
        if name == "NCCL_GRAPH_FILE":
            raise FormatError(f"{name} names a file of channels: give it by --graph")
        if name not in VARIABLES:
            raise FormatError(f"{name}: no variable that the model depends on; {nearest(name, VARIABLES)}")
        if name in values:
            raise FormatError(f"{name} is given twice: keep one")
        values[name] = value
    settings = Settings().of(release.code)
    for name in VARIABLES:
        if name in values:
            try:
                VARIABLES[name](settings, values[name])
            except FormatError as error:
                raise FormatError(f"{name}={values[name]}: {error}") from error
    if settings.min_ctas > settings.max_ctas:
        raise FormatError(f"NCCL_MIN_CTAS={settings.min_ctas} is more than NCCL_MAX_CTAS={settings.max_ctas}")
    return settings
