//! A rank's part of a prediction.
