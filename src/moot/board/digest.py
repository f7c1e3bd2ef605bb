from moot.board.replay import Board


def digest(board: Board) -> str:
    return (
        "The whiteboard is "
        + ("open" if board.open else "closed")
        + ": "
        + ", ".join(e.id for e in board.elements)
    )
