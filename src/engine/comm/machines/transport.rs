//! The way between machines.

use crate::error::Result;

/// Largest number of bytes of a piece.
pub const MAX_PIECE: usize = 16 << 20;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Facts about a machine, for the check at the start.
    Facts,
    /// The beginning of a rank's messages of a collective.
    Messages,
    /// Bytes of these messages, in order.
    Part,
    /// Everything of a pause has been sent.
    EndOfPause,
    /// All ranks have to stop.
    Stop,
    /// The last piece of a machine: how its ranks have ended.
    End,
}

impl PieceKind {
    /// All kinds; the place in this list is the code on the way.
    pub const ALL: [PieceKind; 6] = [
        PieceKind::Facts,
        PieceKind::Messages,
        PieceKind::Part,
        PieceKind::EndOfPause,
        PieceKind::Stop,
        PieceKind::End,
    ];
}

/// Bytes of one kind, at most [`MAX_PIECE`] of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// The kind of the bytes.
    pub kind: PieceKind,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A machine's connection to the others. No method waits. Pieces from one machine to another arrive in the order in which they
/// were sent.
pub trait Transport {
    /// Number of this machine, from 0.
    fn machine(&self) -> usize;

    /// Number of machines.
    fn num_machines(&self) -> usize;

    /// Starts to send a piece to another machine; returns the piece while as many as allowed are on their way there.
    ///
    /// # Errors
    /// If that machine cannot be reached.
    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>>;

    /// The next piece that has arrived from another machine. What is not taken stays with its sender.
    ///
    /// # Errors
    /// If the connection is broken.
    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>>;

    /// Whether all pieces that were sent have left.
    ///
    /// # Errors
    /// If the connection is broken.
    fn has_sent_all(&mut self) -> Result<bool>;

    /// Ends the connection, as all other machines do. One that is only dropped leaves them alone.
    fn close(self: Box<Self>) {}
}
