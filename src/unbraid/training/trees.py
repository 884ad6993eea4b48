"""Trees of named tensors: dataclasses and dicts that torch can map, vectorize and trace as a whole."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, TypeVar

from torch import Tensor
from torch.utils._pytree import GetAttrKey, register_pytree_node, tree_flatten_with_path

Tree = Any
"""A registered dataclass, a dict of trees, or a tensor."""
_Class = TypeVar("_Class", bound=type)


def as_tree(cls: _Class) -> _Class:
    """Registers a dataclass with torch's pytrees: each of its fields is a tree."""
    names = [field.name for field in fields(cls)]

    def grown(branches: Iterable[Tree], _: None) -> Tree:
        # Not through __init__, whose annotations speak of tensors: vmap makes trees of the numbers of axes.
        tree: Tree = object.__new__(cls)
        for name, branch in zip(names, branches, strict=True):
            object.__setattr__(tree, name, branch)
        return tree

    register_pytree_node(
        cls,
        lambda tree: ([getattr(tree, name) for name in names], None),
        grown,
        flatten_with_keys_fn=lambda tree: ([(GetAttrKey(name), getattr(tree, name)) for name in names], None),
    )
    return cls


def named_leaves(tree: Tree) -> dict[str, Tensor]:
    """Returns every tensor of a tree by its path, such as "model.weights.encoder.0.bias", in the order of the tree."""
    leaves, _ = tree_flatten_with_path(tree)
    return {".".join(_word(key) for key in path): leaf for path, leaf in leaves}


def _word(key: Any) -> str:
    """Returns one step of a path: the name of a field, or the key of a dict."""
    return str(key.name if isinstance(key, GetAttrKey) else key.key)
