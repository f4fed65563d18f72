"""What pyproject.toml cannot say: manual pages are built, and `STRUCTKIT_LIGHT=1` omits torch."""

import os
import re
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.egg_info import egg_info, manifest_maker

# isort: split
from distutils.command.install_data import install_data  # setuptools' own

manifest_maker.template = ".github/MANIFEST.in"  # what is in the source distribution
MANUAL = "share/man/man1"
TRAINING = re.compile(r"(torch|transformers)\b")


class Manual(install_data):
    """The manual pages, which `docs.manual` makes from the settings that make --help."""

    def run(self):
        """Write them where the wheel takes data from."""
        self.run_command("egg_info")  # its entry point names our plugins
        sys.path.insert(0, os.getcwd())
        import plugins

        sys.modules["structkit_plugins"] = plugins
        from docs import manual

        manual.write(Path(self.install_dir, MANUAL))


class Light(egg_info):
    """The metadata, without the packages that only training and encoders of torch need."""

    def run(self):
        project = self.distribution
        if os.environ.get("STRUCTKIT_LIGHT"):
            needed = [each for each in project.install_requires if not TRAINING.match(each)]
            project.install_requires = project.metadata.install_requires = needed
        super().run()


setup(cmdclass={"egg_info": Light, "install_data": Manual}, data_files=[(MANUAL, [])])
