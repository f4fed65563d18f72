"""What pyproject.toml cannot say."""

from setuptools import setup
from setuptools.command.egg_info import manifest_maker

manifest_maker.template = ".github/MANIFEST.in"  # what is in the source distribution
setup()
