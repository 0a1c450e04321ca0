//! Our own roots, a client certificate, and a machine without roots.
