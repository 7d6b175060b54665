"""Train one recommender; fit it to every device."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elasticrec.recommender import ElasticRecommender

__version__ = "0.2.0"
__all__ = ["ElasticRecommender", "__version__"]


def __getattr__(name: str) -> Any:
    """`ElasticRecommender`, imported when it is first asked for."""
    if name == "ElasticRecommender":
        from elasticrec.recommender import ElasticRecommender

        return ElasticRecommender
    raise AttributeError(f"module 'elasticrec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, so that tab completion offers them before they are loaded."""
    return sorted([*globals(), "ElasticRecommender"])
