from moot.board.replay import Board


def svg(board: Board) -> str:
    return "<svg/>"
