// SPDX-License-Identifier: Apache-2.0
#include "lib/log.h"

#include "lib/text.h"

void wnn_log_message(const WNNLog *log, WNNLogLevel level, const char *format, ...)
{
    char buffer[1024];
    struct text text = TEXT(buffer);
    va_list arguments;
    va_start(arguments, format);
    wnn_text_add_list(&text, format, arguments);
    va_end(arguments);
    log->callback(level, (WNNStringView){text.data, text.length}, log->userdata1, log->userdata2);
}
