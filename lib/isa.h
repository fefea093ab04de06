// SPDX-License-Identifier: Apache-2.0
//
// Whether there are variants of kernels for the instruction sets of x86 processors beside the plain ones.
//
// Under MemorySanitizer there are none: it does not know what most of their instructions do with the lanes
// of a vector that lie behind the last element, and takes lanes that are computed and thrown away for
// mistakes. In the plain variants it follows each lane until it decides something, so that slack behind
// tensors, rows and buffers may be read, and nothing has to be marked or cleared for it.

#ifndef LIB_ISA_H_
#define LIB_ISA_H_

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define WNN_PLAIN 1
#endif
#endif

#if defined(__x86_64__) && !defined(WNN_PLAIN)
#define WNN_X86_64 1
#else
#define WNN_X86_64 0
#endif

#if (defined(__x86_64__) || defined(__i386__)) && !defined(WNN_PLAIN)
#define WNN_X86 1
#else
#define WNN_X86 0
#endif

#endif
