# SPDX-License-Identifier: Apache-2.0
"""Adds two operators to a copy of the tree, as CONTRIBUTING.md says: one that is element-wise and one with attributes.

usage: recipes.py SOURCE_FOLDER [BACKEND...]
Each patch may touch only so many files of the product. The copy is built, and the vectors of the patches are run on the
backends, of which there need be none.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PRODUCT = ('include', 'lib', 'ops', 'compiler', 'cpu', 'vulkan', 'runtime', 'tools')
MAX_FILES = {'elementwise': 5, 'attributes': 8}


def run(*command, folder=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode:
        sys.exit(f'{" ".join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-8000:]}')
    return done.stdout


def copy_tree(source, tree):
    """What builds need of the source folder, without what was built in it."""
    for name in PRODUCT + ('conformance', 'meson.build', 'meson_options.txt', 'README.md'):
        path = source / name
        if path.is_dir():
            shutil.copytree(path, tree / name)
        else:
            shutil.copy(path, tree / name)


def apply(patch, tree):
    """Applies a patch, and returns the vectors that it adds."""
    files = re.findall(r'^\+\+\+ b/(\S+)$', patch.read_text(), re.MULTILINE)
    product = [file for file in files if file.split('/')[0] in PRODUCT]
    most = MAX_FILES[patch.stem]
    print(f'{patch.stem}: {len(product)} files of the product: {" ".join(product)}')
    if len(product) > most:
        sys.exit(f'{patch.name} touches {len(product)} files of the product; expected at most {most}')
    run('git', 'apply', patch, folder=tree)
    return [tree / file for file in files if file.startswith('conformance/vectors/')]


def main():
    source, backends = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as name:
        tree, build = pathlib.Path(name) / 'webnn', pathlib.Path(name) / 'build'
        tree.mkdir()
        copy_tree(source, tree)
        vectors = [file for patch in MAX_FILES for file in apply(source / f'conformance/recipes/{patch}.patch', tree)]
        if not backends:
            return
        run('meson', 'setup', build, tree, '-Doptimization=0', '-Dwerror=true', '-Dxnnpack=disabled', '-Djs=disabled',
            '-Dtools=disabled', *([] if 'vulkan' in backends else ['-Dvulkan=disabled']))
        runner = 'conformance/webnn-conformance'
        run('meson', 'compile', '-C', build, 'webnn-conformance', *(['webnn-glsl'] if 'vulkan' in backends else []))
        for backend in backends:
            output = run(build / runner, f'--backend={backend}', *vectors)
            print(f'{backend}: {output.splitlines()[-1]}')
            if ' 0 passed' in f' {output.splitlines()[-1]}':
                sys.exit(output)


if __name__ == '__main__':
    main()
