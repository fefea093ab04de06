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

WNNStringView wnn_error_message(const struct error *error)
{
    return (WNNStringView){error->message, strlen(error->message)};
}
