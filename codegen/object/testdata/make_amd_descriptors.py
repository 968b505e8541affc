#!/usr/bin/env python3
"""Makes amd_descriptors.txt: random kernel descriptions and the descriptors that llvm-mc makes of them.

One case a line: processor, name=value pairs separated by commas, the descriptor's 64 bytes.
usage: make_amd_descriptors.py > amd_descriptors.txt
"""
import random
import subprocess

RDNA3, RDNA4, CDNA = ['gfx1100', 'gfx1151'], ['gfx1201'], ['gfx942', 'gfx950']
ALL = RDNA3 + RDNA4 + CDNA
FLAG = (0, 1)
VALUES = {
    'group_segment_fixed_size': (ALL, (0, 65536)),
    'private_segment_fixed_size': (ALL, (0, 4096)),
    'kernarg_size': (ALL, (0, 4096)),
    'next_free_vgpr': (ALL, (0, 255)),
    'next_free_sgpr': (ALL, (0, 96)),
    'reserve_vcc': (ALL, FLAG),
    'user_sgpr_dispatch_ptr': (ALL, FLAG),
    'user_sgpr_queue_ptr': (ALL, FLAG),
    'user_sgpr_kernarg_segment_ptr': (ALL, FLAG),
    'user_sgpr_dispatch_id': (ALL, FLAG),
    'user_sgpr_private_segment_size': (ALL, FLAG),
    'user_sgpr_kernarg_preload_length': (CDNA, (0, 7)),
    'user_sgpr_kernarg_preload_offset': (CDNA, (0, 511)),
    'enable_private_segment': (ALL, FLAG),
    'system_sgpr_workgroup_id_x': (ALL, FLAG),
    'system_sgpr_workgroup_id_y': (ALL, FLAG),
    'system_sgpr_workgroup_id_z': (ALL, FLAG),
    'system_sgpr_workgroup_info': (ALL, FLAG),
    'system_vgpr_workitem_id': (ALL, (0, 2)),
    'wavefront_size32': (RDNA3 + RDNA4, FLAG),
    'uses_dynamic_stack': (ALL, FLAG),
    'float_round_mode_32': (ALL, (0, 3)),
    'float_round_mode_16_64': (ALL, (0, 3)),
    'float_denorm_mode_32': (ALL, (0, 3)),
    'float_denorm_mode_16_64': (ALL, (0, 3)),
    'dx10_clamp': (RDNA3 + CDNA, FLAG),
    'ieee_mode': (RDNA3 + CDNA, FLAG),
    'fp16_overflow': (ALL, FLAG),
    'tg_split': (CDNA, FLAG),
    'workgroup_processor_mode': (RDNA3 + RDNA4, FLAG),
    'memory_ordered': (RDNA3 + RDNA4, FLAG),
    'forward_progress': (RDNA3 + RDNA4, FLAG),
    'inst_pref_size': (RDNA3 + RDNA4, (0, 63)),
    'round_robin_scheduling': (RDNA4, FLAG),
    'exception_fp_ieee_invalid_op': (ALL, FLAG),
    'exception_fp_denorm_src': (ALL, FLAG),
    'exception_fp_ieee_div_zero': (ALL, FLAG),
    'exception_fp_ieee_overflow': (ALL, FLAG),
    'exception_fp_ieee_underflow': (ALL, FLAG),
    'exception_fp_ieee_inexact': (ALL, FLAG),
    'exception_int_div_zero': (ALL, FLAG),
}


def descriptor(processor, values):
    source = '.section .rodata,"a"\n.p2align 6\n.amdhsa_kernel k\n'
    source += ''.join('.amdhsa_%s %d\n' % pair for pair in values.items())
    source += '.end_amdhsa_kernel\n'
    features = []
    if processor.startswith('gfx1') and 'wavefront_size32' in values:
        features = ['-mattr=' + ('+wavefrontsize32' if values['wavefront_size32'] else '+wavefrontsize64')]
    obj = subprocess.run(
        ['llvm-mc-22', '-triple=amdgcn-amd-amdhsa', '-mcpu=' + processor, '-filetype=obj', '-'] + features,
        input=source.encode(), stdout=subprocess.PIPE, check=True).stdout
    table = int.from_bytes(obj[40:48], 'little')
    names = obj[table + 64 * int.from_bytes(obj[62:64], 'little'):][24:32]
    for i in range(int.from_bytes(obj[60:62], 'little')):
        row = obj[table + 64 * i:table + 64 * i + 64]
        name = obj[int.from_bytes(names, 'little') + int.from_bytes(row[:4], 'little'):].split(b'\0')[0]
        if name == b'.rodata':
            at = int.from_bytes(row[24:32], 'little')
            return obj[at:at + 64].hex()
    raise SystemExit('no .rodata')


def main():
    rng = random.Random(1)
    for processor in ALL:
        for case in range(40):
            share = rng.choice([0.0, 0.2, 0.6, 1.0]) if case else 0.0
            values = {'next_free_vgpr': rng.randint(0, 255), 'next_free_sgpr': rng.randint(0, 96)}
            for name, (processors, (low, high)) in VALUES.items():
                if processor in processors and rng.random() < share:
                    values[name] = rng.randint(low, high)
            if processor in CDNA:
                values['next_free_vgpr'] = rng.randint(1, 512)
                length = values.get('user_sgpr_kernarg_preload_length', 0)
                values['user_sgpr_kernarg_preload_offset'] = rng.randint(0, 100) if length else 0
                values['kernarg_size'] = 4 * (length + values['user_sgpr_kernarg_preload_offset']) + rng.randint(0, 64)
                values['accum_offset'] = 4 * rng.randint(1, min(64, (values['next_free_vgpr'] + 3) // 4))
            print(processor, ','.join('%s=%d' % pair for pair in values.items()),
                  descriptor(processor, values))


main()
