// SPDX-License-Identifier: Apache-2.0
//
// Kernels for other processors than this one, on this one: WNN_PROCESSOR in the environment names what of its
// instruction sets (lib/isa.h) is used.
//
//   portable       nothing that only some have
//   AVX2           and nothing beside it
//   AVX2 and more  with the extensions of it that the processor has
//   AVX-512        and nothing beside it

#ifndef CONFORMANCE_UNIT_PROCESSOR_H_
#define CONFORMANCE_UNIT_PROCESSOR_H_

// To be called before all else. Ends the program as skipped where the processor lacks what is named, and as
// failed where the name is unknown.
void play_processor(void);

#endif
