//! Two reports compared.
