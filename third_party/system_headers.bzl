"""Headers that are installed on this machine outside the compiler's own search path."""

def _system_headers_impl(ctx):
    # Absolute folders below /usr/include pass Bazel's check for undeclared inclusions, and the sandbox
    # shows them as they are: no tree of a thousand symbolic links for each compilation.
    context = cc_common.create_compilation_context(system_includes = depset(ctx.attr.folders))
    return [CcInfo(compilation_context = context)]

system_headers = rule(
    implementation = _system_headers_impl,
    attrs = {"folders": attr.string_list(mandatory = True, doc = "absolute paths")},
    provides = [CcInfo],
    doc = "Adds installed folders to the header search path of whoever depends on it.",
)
