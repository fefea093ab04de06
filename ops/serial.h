// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the format that include/webnn/serialize.h describes.

#ifndef OPS_SERIAL_H_
#define OPS_SERIAL_H_

#define SERIAL_MAGIC "WNNGRAPH"

enum {
    SERIAL_VERSION = 1,
    SERIAL_HEADER_BYTES = 48
};

enum serial_record {
    SERIAL_INPUT = 1,
    SERIAL_CONSTANT_VALUE = 2,
    SERIAL_CONSTANT_FILE = 3,
    SERIAL_CONSTANT_ID = 4,
    SERIAL_OPERATOR = 5
};

#endif
