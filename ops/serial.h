// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the format that include/webnn/serialize.h describes.

#ifndef OPS_SERIAL_H_
#define OPS_SERIAL_H_

#define SERIAL_MAGIC "WNNGRAPH"

enum {
    SERIAL_VERSION = 1,
    SERIAL_LATE = 1, // a feature: sizes that are not known
    SERIAL_HEADER_BYTES = 48
};
#define SERIAL_NONE UINT32_MAX

enum serial_record {
    SERIAL_INPUT = 1,
    SERIAL_CONSTANT_VALUE = 2,
    SERIAL_CONSTANT_FILE = 3,
    SERIAL_CONSTANT_ID = 4,
    SERIAL_OPERATOR = 5,
    SERIAL_SIZE = 6,
    SERIAL_LATE_INPUT = 7
};

enum serial_size {
    SERIAL_SIZE_DIMENSION = 1,
    SERIAL_SIZE_SUM = 2,
    SERIAL_SIZE_PRODUCT = 3,
    SERIAL_SIZE_QUOTIENT = 4,
    SERIAL_SIZE_SCALED = 5,
    SERIAL_SIZE_BROADCAST = 6,
    SERIAL_SIZE_MINIMUM = 7
};
#define SERIAL_UNRANKED (UINT32_C(1) << 16) // a flag of a result

#endif
