"""A Conan 2 recipe: conan create examples/packaging/conan. It packs the header of this checkout."""

import os
import re

from conan import ConanFile
from conan.tools.files import copy, load


class Wsq(ConanFile):
    name = "wsq"
    description = "A work-stealing scheduler in one C header: fair tasks and fork-join"
    license = "MIT OR Unlicense"
    topics = ("scheduler", "work-stealing", "fork-join", "header-only")
    package_type = "header-library"
    settings = "os"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "..", "..", "wsq.h"))
        self.version = re.search(r"version ([0-9.]+)", header).group(1)

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        copy(self, "wsq.h", root, self.export_sources_folder)
        copy(self, "*.hpp", os.path.join(root, "examples"), self.export_sources_folder)
        copy(self, "LICENSE", root, self.export_sources_folder)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "wsq.h", self.source_folder, os.path.join(self.package_folder, "include"))
        copy(self, "*.hpp", self.source_folder, os.path.join(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "wsq")
        self.cpp_info.set_property("cmake_target_name", "wsq::wsq")
        self.cpp_info.set_property("pkg_config_name", "wsq")
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
