// SPDX-License-Identifier: Apache-2.0
//
// The error of an operation: the first one stays. One thread at a time.

#ifndef LIB_STATUS_H_
#define LIB_STATUS_H_

#include <webnn/webnn.h>

#include <stdarg.h>

#define WNN_MESSAGE_SIZE 1024

struct error {
    WNNStatus status;
    char message[WNN_MESSAGE_SIZE]; // empty on success
};

// Records the error unless there is one already; returns false.
bool wnn_fail(struct error *error, WNNStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool wnn_fail_memory(struct error *error);

// Checks that a chain has only structs of the types in `allowed` (a bit of 1u << sType for each), none of
// them twice. `what` is the struct that it hangs on.
bool wnn_check_chain(const WNNChainedStruct *chain, uint32_t allowed, const char *what, struct error *error);
// Checks the structs that the library is to fill in: `count` of `size` bytes, each of which begins with its
// chain. NULL is refused, but for no structs.
bool wnn_check_outputs(const void *structs, size_t count, size_t size, const char *what, struct error *error);
// The struct of that type, or NULL.
const void *wnn_chained(const WNNChainedStruct *chain, WNNSType type);

WNNStringView wnn_error_message(const struct error *error);

#endif
