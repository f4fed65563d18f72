"""What pyproject.toml cannot say: with `STRUCTKIT_LIGHT=1 pip install .` torch is left out."""

import os
import re

from setuptools import setup
from setuptools.command.egg_info import egg_info, manifest_maker

manifest_maker.template = ".github/MANIFEST.in"  # what is in the source distribution
TRAINING = re.compile(r"(torch|transformers)\b")


class Light(egg_info):
    """The metadata, without the packages that only training and encoders of torch need."""

    def run(self):
        project = self.distribution
        needed = [each for each in project.install_requires if not TRAINING.match(each)]
        project.install_requires = project.metadata.install_requires = needed
        super().run()


setup(cmdclass={"egg_info": Light} if os.environ.get("STRUCTKIT_LIGHT") else {})
