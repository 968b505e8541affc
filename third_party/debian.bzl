"""Repositories that are Debian packages installed on this machine."""

def _require(ctx, probe):
    if not ctx.path(probe).exists:
        fail(("Debian package {package} is missing ({probe} not found); install it with: " +
              "sudo apt-get install {package}").format(package = ctx.attr.package, probe = probe))

def _debian_repository_impl(ctx):
    if ctx.attr.root:
        _require(ctx, ctx.attr.root)
        for entry in ctx.path(ctx.attr.root).readdir():
            if entry.basename not in ["WORKSPACE", "BUILD.bazel"] and not (
                entry.basename == "BUILD" and ctx.attr.build_file
            ):
                ctx.symlink(entry, entry.basename)
    if ctx.attr.probe:
        _require(ctx, ctx.attr.probe)
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    if ctx.attr.build_file:
        ctx.symlink(ctx.attr.build_file, "BUILD")
        ctx.symlink(Label("//third_party:system_headers.bzl"), "system_headers.bzl")

debian_repository = repository_rule(
    implementation = _debian_repository_impl,
    local = True,
    attrs = {
        "package": attr.string(mandatory = True, doc = "name of the Debian package"),
        "root": attr.string(doc = "folder whose entries become the repository's"),
        "probe": attr.string(doc = "a file that is there when the package is"),
        "build_file": attr.label(doc = "BUILD file at the top of the repository"),
    },
    doc = """A repository made of an installed Debian package.

Fails with the package's name and the command that installs it when it is not there.""",
)

_ABSEIL_PREFIX = "/usr/lib/x86_64-linux-gnu"

# Abseil's Bazel packages and the targets in them that tg may use. The name of a target is also that
# of its pkg-config file.
_ABSEIL_TARGETS = {
    "algorithm": ["algorithm", "container:algorithm_container"],
    "base": ["base", "config", "core_headers", "endian", "prefetch"],
    "cleanup": ["cleanup"],
    "container": [
        "btree",
        "fixed_array",
        "flat_hash_map",
        "flat_hash_set",
        "inlined_vector",
        "node_hash_map",
        "node_hash_set",
    ],
    "debugging": ["failure_signal_handler", "leak_check", "stacktrace", "symbolize"],
    "functional": ["any_invocable", "bind_front", "function_ref"],
    "hash": ["hash"],
    "memory": ["memory"],
    "meta": ["type_traits:type_traits"],
    "numeric": ["bits", "int128"],
    "random": ["random:random_random"],
    "status": ["status", "statusor"],
    "strings": ["cord", "str_format", "strings"],
    "synchronization": ["synchronization"],
    "time": ["time"],
    "types": ["any", "compare", "optional", "span", "variant"],
    "utility": ["utility"],
}

def _pkg_config(ctx, path):
    """The libraries and the required modules that a .pc file names."""
    libs, requires = [], []
    for line in ctx.read(path).splitlines():
        if line.startswith("Libs:"):
            libs = [word[2:] for word in line[5:].split(" ") if word.startswith("-l")]
        elif line.startswith("Requires:"):
            requires = [item.strip().split(" ")[0] for item in line[9:].split(",") if item.strip()]
    return libs, requires

def _debian_abseil_impl(ctx):
    _require(ctx, "/usr/include/absl/base/config.h")
    pc_folder = None
    lib_folder = None
    for prefix in ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]:
        if ctx.path(prefix + "/pkgconfig/absl_base.pc").exists:
            lib_folder = prefix
            pc_folder = prefix + "/pkgconfig"
            break
    if not pc_folder:
        _require(ctx, _ABSEIL_PREFIX + "/pkgconfig/absl_base.pc")

    modules = {}
    for path in ctx.path(pc_folder).readdir():
        name = path.basename
        if name.startswith("absl_") and name.endswith(".pc"):
            modules[name[:-3]] = _pkg_config(ctx, path)

    # The archives are linked, not the shared libraries: programs start without loading thirty of them.
    build = ["package(default_visibility = [\"//absl:__subpackages__\"])\n"]
    for name, (libs, requires) in sorted(modules.items()):
        linkopts = []
        for lib in libs:
            if ctx.path("{}/lib{}.a".format(lib_folder, lib)).exists:
                linkopts.append("-l:lib%s.a" % lib)
            else:
                linkopts.append("-l" + lib)
        deps = [":" + module for module in requires if module in modules and module != name]
        build.append("cc_library(name = \"{}\", linkopts = {}, deps = {})\n".format(
            name,
            repr(linkopts + ["-pthread"]),
            repr(deps),
        ))
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    ctx.file("BUILD", "")
    ctx.file("absl/BUILD", "".join(build))
    for folder, targets in _ABSEIL_TARGETS.items():
        lines = ["package(default_visibility = [\"//visibility:public\"])\n"]
        for target in targets:
            name, _, module = target.partition(":")
            lines.append("alias(name = \"{}\", actual = \"//absl:absl_{}\")\n".format(
                name,
                module or name,
            ))
        ctx.file("absl/%s/BUILD" % folder, "".join(lines))

debian_abseil = repository_rule(
    implementation = _debian_abseil_impl,
    local = True,
    attrs = {"package": attr.string(mandatory = True, doc = "name of the Debian package")},
    doc = """Abseil as @absl//absl/status:statusor and so on, from Debian's headers and archives.

Which archives a target needs is read from the package's pkg-config files.""",
)
