"""What SANTA's paper describes: every entity (section 3.2, appendix A.3)."""

from structkit import plugin


class Profile(plugin.Profile):
    """Every language as it is."""

    mask_ratio = 1.0
