// What this processor can do beyond what all of its kind can, as CPUID tells it.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

namespace apir::host {

// Of leaf 7; 0 where there is none.
struct ExtendedFeatures {
    static ExtendedFeatures own() {
        ExtendedFeatures features;
        unsigned a = 0;
        unsigned d = 0;
        if (__get_cpuid_count(7, 0, &a, &features.ebx, &features.ecx, &d) == 0) return {};
        return features;
    }

    bool clflushopt() const { return (ebx & (1U << 23)) != 0; }
    bool cldemote() const { return (ecx & (1U << 25)) != 0; }

    unsigned ebx = 0;
    unsigned ecx = 0;
};

} // namespace apir::host
#endif
