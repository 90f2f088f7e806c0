#pragma once
#define noreturn _Noreturn
#define __noreturn_is_defined 1
