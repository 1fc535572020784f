"""Many small positive semi-definite systems at once, each restricted to its allowed variables."""

from ancr._core.arrays import Array, namespace

# Systems up to this size are eliminated variable by variable; larger ones are halved, which yields matrix products.
SMALL = 16


def solve_kept(blocks: Array, allowed: Array, right: Array, dependent: float) -> tuple[Array, Array]:
    """Solve each system on its allowed variables, leaving out those that depend on others.

    Uses the library's batched Cholesky factorisation if it has one that reports a failed block instead of raising.
    Failed blocks, and all blocks otherwise, are solved by elimination, which can leave a variable out.

    Parameters
    ----------
    blocks : array of shape (q, m, m), float64
        Symmetric positive semi-definite matrices.
    allowed : array of bool of shape (q, m)
        Variables that may take part.
    right : array of shape (q, m, r)
        Right-hand sides.
    dependent : float
        A pivot below this share of the diagonal means that the variable depends on those before it.

    Returns
    -------
    solution : array of shape (q, m, r)
        Zero for variables left out.
    kept : array of bool of shape (q, m)
        Variables that took part.
    """
    xp = namespace(blocks)
    floor = dependent * xp.linalg.diagonal(blocks)
    if not hasattr(xp.linalg, "cholesky_ex"):
        return _eliminate(blocks, allowed, floor, right)
    solution, sound = _by_cholesky(blocks, allowed, floor, right)
    if bool(xp.all(sound)):
        return solution, allowed
    failed, kept = ~sound, xp.asarray(allowed, copy=True)
    solution[failed], kept[failed] = _eliminate(blocks[failed], allowed[failed], floor[failed], right[failed])
    return solution, kept


def _by_cholesky(blocks: Array, allowed: Array, floor: Array, right: Array) -> tuple[Array, Array]:
    """The solution, with identity rows and columns for excluded variables, and which systems were sound."""
    xp = namespace(blocks)
    inside = allowed[:, :, None] & allowed[:, None, :]
    identity = xp.eye(blocks.shape[1], dtype=blocks.dtype, device=blocks.device)
    factor, failed = xp.linalg.cholesky_ex(xp.where(inside, blocks, identity))
    pivots = xp.linalg.diagonal(factor) ** 2
    sound = (failed == 0) & xp.all((pivots > floor) | ~allowed, axis=1)
    right = xp.where(allowed[:, :, None], right, xp.zeros_like(right))
    half = xp.linalg.solve_triangular(factor, right, upper=False)
    return xp.linalg.solve_triangular(xp.matrix_transpose(factor), half, upper=True), sound


def _eliminate(blocks: Array, allowed: Array, floor: Array, right: Array) -> tuple[Array, Array]:
    """Halve the system: solve with the first half, then with its Schur complement, then substitute back."""
    m = blocks.shape[1]
    if m <= SMALL:
        return _gauss_jordan(blocks, allowed, floor, right)
    xp, h = namespace(blocks), (m // 2 + SMALL - 1) // SMALL * SMALL
    across = blocks[:, :h, h:]
    ahead, kept_first = _eliminate(
        blocks[:, :h, :h], allowed[:, :h], floor[:, :h], xp.concat([across, right[:, :h, :]], axis=2)
    )
    through, first = ahead[:, :, : m - h], ahead[:, :, m - h :]
    back = xp.matrix_transpose(across)
    second, kept_second = _eliminate(
        blocks[:, h:, h:] - back @ through, allowed[:, h:], floor[:, h:], right[:, h:, :] - back @ first
    )
    return xp.concat([first - through @ second, second], axis=1), xp.concat([kept_first, kept_second], axis=1)


def _gauss_jordan(blocks: Array, allowed: Array, floor: Array, right: Array) -> tuple[Array, Array]:
    """Eliminate variable by variable. One whose pivot is too small gets a zero row, and so a zero solution."""
    xp, kept, m = namespace(blocks), [], blocks.shape[1]
    system = xp.concat([blocks, right], axis=2)
    for k in range(m):
        pivot = system[:, k, k]
        stands = allowed[:, k] & (pivot > floor[:, k])
        inverse = xp.where(stands, 1.0 / xp.where(stands, pivot, xp.ones_like(pivot)), xp.zeros_like(pivot))
        row = system[:, k, :] * inverse[:, None]
        system = system - system[:, :, k][:, :, None] * row[:, None, :]
        system[:, k, :] = row
        kept.append(stands)
    return system[:, :, m:], xp.stack(kept, axis=1)
