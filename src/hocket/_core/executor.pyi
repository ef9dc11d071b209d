class Program:
    def __init__(self, text: str, source: str) -> None: ...

class Library:
    def __init__(self, text: str, source: str) -> None: ...
    def find(
        self, kind: str, ranks: int, root: int, share_bytes: int, element_bytes: int, in_place: bool
    ) -> tuple[int, bool] | None: ...
    def why_none(self, kind: str, ranks: int, root: int) -> str: ...
    def chunk_bytes(self, number: int, share_bytes: int, element_bytes: int) -> int: ...

class Transport: ...

class Mesh(Transport):
    def __init__(self, rank: int, host: str, token: int, nearby: int) -> None: ...
    @property
    def port(self) -> int: ...
    @property
    def lost(self) -> int: ...
    @property
    def transports(self) -> str: ...
    def open(
        self,
        program: Program,
        hosts: list[str],
        ports: list[int],
        tokens: list[int],
        nearby: list[int],
        timeout_ms: int,
    ) -> None: ...
    def close(self) -> None: ...

class Messages(Transport):
    def __init__(self, handler: object, device: bool) -> None: ...

def run(
    program: Program,
    transport: Transport,
    input: int,
    output: int,
    chunk_bytes: int,
    type: int,
    op: int,
    signature: int,
    timeout_ms: int,
) -> None: ...
def serve(
    library: Library,
    choice: tuple[int, bool],
    program: Program,
    transport: Transport,
    rank: int,
    input: int,
    output: int,
    are_one: bool,
    share_bytes: int,
    type: int,
    op: int,
    signature: int,
    timeout_ms: int,
) -> None: ...
def reduce(type: int, op: int, left: int, right: int, out: int, count: int) -> None: ...
