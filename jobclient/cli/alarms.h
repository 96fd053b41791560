#pragma once

#include "jobclient/cli/context.h"

// The verbs that change who gets alarms and when: alarms silence, alarms unsilence, alarms test.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_alarms_silence();
Verb declare_alarms_unsilence();
Verb declare_alarms_test();

int run_alarms_silence(Context& context);
int run_alarms_unsilence(Context& context);
int run_alarms_test(Context& context);

}  // namespace carillon::cli
