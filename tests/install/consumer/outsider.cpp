// The same backend as C++: backend.h and node.h must serve both languages.
#define BACKEND_NAME "outsider_cpp"
#include "outsider.c"
