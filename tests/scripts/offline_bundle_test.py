# SPDX-License-Identifier: Apache-2.0
"""scripts/offline-bundle --unpack, with packages made here."""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARIES = "usr/lib/x86_64-linux-gnu"


def _run(*arguments):
    done = subprocess.run([os.path.join(ROOT, "scripts/offline-bundle"), *arguments], capture_output=True, text=True,
                          timeout=240)
    return done.returncode, done.stdout, done.stderr


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
class OfflineBundleTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="bundle-test-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.packages, self.unpacked = os.path.join(self.folder, "debs"), os.path.join(self.folder, "unpacked")
        os.makedirs(self.packages)

    def pack(self, *files):
        """Makes a package of these files; each file holds its own name."""
        tree = os.path.join(self.folder, "tree")
        for name, text in [(name, name) for name in files] + [
                ("DEBIAN/control", "Package: ours\nVersion: 1\nArchitecture: all\nMaintainer: us\nDescription: x\n")]:
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["dpkg-deb", "--build", tree, os.path.join(self.packages, "ours.deb")], check=True,
                       capture_output=True)

    def unpack(self):
        return _run("--unpack", self.packages, self.unpacked)

    def path(self, name):
        return os.path.join(self.unpacked, name)

    def test_unpacks_the_files_of_the_packages(self):
        self.pack("usr/include/ours.hpp", f"{LIBRARIES}/libofours.so.9")
        code, _, err = self.unpack()
        self.assertEqual(code, 0, err)
        self.assertIn(f"--offline {self.unpacked} doctor", err)
        for name in ("usr/include/ours.hpp", f"{LIBRARIES}/libofours.so.9"):
            with open(self.path(name), encoding="utf-8") as file:
                self.assertEqual(file.read(), name)

    def test_links_to_a_library_that_the_host_has(self):
        hosts = next((name for name in sorted(os.listdir("/" + LIBRARIES)) if name.startswith("libz.so.")), None)
        if hosts is None:
            self.skipTest("no libz on this machine")
        self.pack(f"{LIBRARIES}/{hosts}")
        self.assertEqual(self.unpack()[0], 0)
        self.assertEqual(os.readlink(self.path(f"{LIBRARIES}/{hosts}")), f"/{LIBRARIES}/{hosts}")

    def test_a_folder_without_packages_is_refused(self):
        code, _, err = self.unpack()
        self.assertEqual(code, 2)
        self.assertIn(f"no .deb files in {self.packages}", err)
        self.assertFalse(os.path.exists(self.unpacked))

    def test_a_damaged_package_is_an_error(self):
        with open(os.path.join(self.packages, "ours.deb"), "w", encoding="utf-8") as file:
            file.write("no package")
        code, _, err = self.unpack()
        self.assertNotEqual(code, 0)
        self.assertIn("ours.deb", err)

    def test_without_arguments_it_prints_its_usage(self):
        code, _, err = _run()
        self.assertEqual(code, 2)
        self.assertIn("--unpack DIR TO", err)


if __name__ == "__main__":
    unittest.main()
