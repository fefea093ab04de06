// SPDX-License-Identifier: Apache-2.0
//
// What `webnn info` says of backends, devices, and what a context on one accepts.

#ifndef TOOLS_INFO_DEVICE_H_
#define TOOLS_INFO_DEVICE_H_

#include "tools/session.h"

void info_devices_print(bool json);
void info_limits_print(const struct session *session, bool json);

#endif
