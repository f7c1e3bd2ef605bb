from moot.board.replay import Board


def png(board: Board) -> bytes:
    return b""
