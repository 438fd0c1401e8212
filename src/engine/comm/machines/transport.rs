//! The transport between machines.

use crate::words::error::Result;

/// Largest number of bytes of a piece.
pub const MAX_PIECE: usize = 16 << 20;

/// The kind of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// Facts about a machine for the check at the start.
    Facts,
    /// Header of a rank's messages of a collective.
    Messages,
    /// Bytes of these messages, in order.
    Part,
    /// All messages of a pause have been sent.
    EndOfPause,
    /// All ranks have to stop.
    Stop,
    /// The last piece of a machine: how its ranks have ended.
    End,
}

impl PieceKind {
    /// All kinds; the index in this list is a kind's code.
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

/// A machine's connection to the others. Methods never wait. Pieces from one machine to another arrive in order.
pub trait Transport {
    /// Number of this machine, from 0.
    fn machine(&self) -> usize;

    /// Number of machines.
    fn num_machines(&self) -> usize;

    /// Starts sending a piece to another machine; returns the piece if the maximum number is in transit already.
    ///
    /// # Errors
    /// If that machine cannot be reached.
    fn try_send(&mut self, to: usize, piece: Piece) -> Result<Option<Piece>>;

    /// The next piece that has arrived from another machine. Pieces that are not received stay with their sender.
    ///
    /// # Errors
    /// If the connection is broken.
    fn try_receive(&mut self, from: usize) -> Result<Option<Piece>>;

    /// Whether all pieces have been sent.
    ///
    /// # Errors
    /// If the connection is broken.
    fn has_sent_all(&mut self) -> Result<bool>;

    /// Closes the connection, together with all other machines. Dropping it does not affect them.
    fn close(self: Box<Self>) {}
}
