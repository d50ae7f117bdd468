/* A healthy library that is no plugin. */
#include <polyhead/backend.h>

extern PH_BACKEND_EXPORT const int stub_answer;
const int stub_answer = 42;
