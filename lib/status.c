// SPDX-License-Identifier: Apache-2.0
#include "lib/status.h"

#include "lib/text.h"

#include <string.h>

bool wnn_fail(struct error *error, WNNStatus status, const char *format, ...)
{
    if (error->status != WNNStatus_Success)
        return false;
    error->status = status;
    struct text text = TEXT(error->message);
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&text, format, arguments);
    va_end(arguments);
    return false;
}

bool wnn_fail_memory(struct error *error)
{
    return wnn_fail(error, WNNStatus_OutOfMemory, "out of memory");
}

bool wnn_check_chain(const WNNChainedStruct *chain, uint32_t allowed, const char *what, struct error *error)
{
    for (; chain; chain = chain->next) {
        unsigned type = chain->sType;
        if (type >= 32 || !(allowed >> type & 1))
            return wnn_fail(error, WNNStatus_TypeError,
                            "%s: nextInChain holds a struct of type %u, which means nothing there%s", what,
                            type, allowed ? " or is there twice" : "");
        allowed &= ~(1u << type);
    }
    return true;
}

bool wnn_check_outputs(const void *structs, size_t count, size_t size, const char *what, struct error *error)
{
    if (count > 0 && !structs)
        return wnn_fail(error, WNNStatus_TypeError, "there is no place for the %s", what);
    for (size_t i = 0; i < count; i++)
        if (!wnn_check_chain(*(WNNChainedStruct *const *)((const char *)structs + i * size), 0, what, error))
            return false;
    return true;
}

const void *wnn_chained(const WNNChainedStruct *chain, WNNSType type)
{
    while (chain && chain->sType != (uint32_t)type)
        chain = chain->next;
    return chain;
}

WNNStringView wnn_error_message(const struct error *error)
{
    return (WNNStringView){error->message, strlen(error->message)};
}
