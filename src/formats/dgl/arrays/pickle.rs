//! An interpreter for the pickles in PyTorch files of graphs.
//!
//! It supports the instructions and classes of graph files and refuses all others: no names are looked up, and nothing
//! is executed. Values are in one list and refer to each other by index, so that a value can be filled after it has
//! been stored, and cycles do no harm.

use super::pickle_value::{Class, Index, PickleStorage, Tensor, Value};
use std::collections::HashMap;

/// A mistake in a pickle, and its offset.
#[derive(Debug)]
pub(crate) struct PickleError {
    pub(crate) offset: usize,
    pub(crate) problem: String,
}

/// The values of a pickle; texts are slices of its bytes.
#[derive(Debug)]
pub(crate) struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Index,
}

impl<'a> Pickle<'a> {
    /// Runs the instructions up to STOP.
    pub(crate) fn load(bytes: &'a [u8]) -> Result<Self, PickleError> {
        let mut machine = Machine {
            bytes,
            pos: 0,
            values: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        };
        loop {
            let offset = machine.pos;
            match machine.step() {
                Ok(None) => {}
                Ok(Some(root)) => return Ok(Pickle { values: machine.values, root }),
                Err(problem) => return Err(PickleError { offset, problem }),
            }
        }
    }

    /// The value of the pickle as a whole.
    pub(crate) fn root(&self) -> &Value<'a> {
        &self.values[self.root]
    }

    pub(crate) fn value(&self, index: Index) -> &Value<'a> {
        &self.values[index]
    }

    /// The entry of a dictionary.
    pub(crate) fn entry(&self, dict: &Value<'a>, key: &str) -> Option<&Value<'a>> {
        let Value::Dict(entries) = dict else { return None };
        let found =
            entries.iter().find(|(k, _)| matches!(self.value(*k), Value::Text(t) if *t == key));
        found.map(|&(_, value)| self.value(value))
    }
}

struct Machine<'a> {
    bytes: &'a [u8],
    pos: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Index>,
    marks: Vec<usize>,
    memo: HashMap<u32, Index>,
}

type Step<T> = Result<T, String>;

impl<'a> Machine<'a> {
    /// Executes one instruction; returns the result at STOP.
    fn step(&mut self) -> Step<Option<Index>> {
        let [opcode] = self.take()?;
        match opcode {
            0x80 => self.take::<1>().map(|_| ())?, // PROTO
            b'(' => self.marks.push(self.stack.len()),
            b'}' => self.push(Value::Dict(Vec::new())),
            b')' => self.push(Value::Tuple(Vec::new())),
            b't' => self.tuple_from_mark()?,
            0x85..=0x87 => self.tuple_of(usize::from(opcode) - 0x84)?,
            b'N' => self.push(Value::None),
            0x88 | 0x89 => self.push(Value::Bool),
            b'K' | b'M' | b'J' | 0x8a => self.integer(opcode)?,
            b'X' => self.text()?,
            b'q' | b'r' => {
                let slot = self.slot(opcode == b'q')?;
                let top = *self.stack.last().ok_or("memoizes a value of an empty stack")?;
                self.memo.insert(slot, top);
            }
            b'h' | b'j' => {
                let slot = self.slot(opcode == b'h')?;
                let index = *self.memo.get(&slot).ok_or("recalls a value that it never stored")?;
                self.stack.push(index);
            }
            b'c' => self.class()?,
            b'Q' => self.storage()?,
            0x81 => self.new_object()?,
            b'R' => self.call()?,
            b'b' => self.build()?,
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(vec![key, value])?;
            }
            b'u' => {
                let items = self.items_from_mark()?;
                self.set_items(items)?;
            }
            b'.' => return self.pop().map(Some),
            other => {
                return Err(format!("instruction {other:#04x} does not belong in a graph file"));
            }
        }
        Ok(None)
    }

    fn take<const N: usize>(&mut self) -> Step<[u8; N]> {
        let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
        let chunk = *rest.first_chunk::<N>().ok_or("the pickle ends early")?;
        self.pos += N;
        Ok(chunk)
    }

    fn slice(&mut self, len: usize) -> Step<&'a [u8]> {
        let end = self.pos.checked_add(len).ok_or("the pickle ends early")?;
        let slice = self.bytes.get(self.pos..end).ok_or("the pickle ends early")?;
        self.pos = end;
        Ok(slice)
    }

    fn push(&mut self, value: Value<'a>) {
        self.values.push(value);
        self.stack.push(self.values.len() - 1);
    }

    /// Pops the top of the stack, which must be above the last mark.
    fn pop(&mut self) -> Step<Index> {
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err("the stack is empty".to_owned());
        }
        self.stack.pop().ok_or_else(|| "the stack is empty".to_owned())
    }

    fn items_from_mark(&mut self) -> Step<Vec<Index>> {
        let mark = self.marks.pop().ok_or("a mark is missing")?;
        if mark > self.stack.len() {
            return Err("a mark lies above the stack".to_owned());
        }
        Ok(self.stack.split_off(mark))
    }

    fn slot(&mut self, short: bool) -> Step<u32> {
        if short {
            self.take().map(|[b]| u32::from(b))
        } else {
            self.take().map(u32::from_le_bytes)
        }
    }

    fn integer(&mut self, opcode: u8) -> Step<()> {
        let value = match opcode {
            b'K' => self.take().map(|b| i64::from(u8::from_le_bytes(b)))?,
            b'M' => self.take().map(|b| i64::from(u16::from_le_bytes(b)))?,
            b'J' => self.take().map(|b| i64::from(i32::from_le_bytes(b)))?,
            _ => {
                let [len] = self.take()?;
                let digits = self.slice(usize::from(len))?;
                let negative = digits.last().is_some_and(|&top| top & 0x80 != 0);
                let mut wide = [if negative { 0xff } else { 0 }; 8];
                let room = wide.get_mut(..digits.len()).ok_or("an integer has over 64 bits")?;
                room.copy_from_slice(digits);
                i64::from_le_bytes(wide)
            }
        };
        self.push(Value::Int(value));
        Ok(())
    }

    fn text(&mut self) -> Step<()> {
        let len = u32::from_le_bytes(self.take()?);
        let bytes = self.slice(len as usize)?;
        let text = std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8")?;
        self.push(Value::Text(text));
        Ok(())
    }

    fn tuple_from_mark(&mut self) -> Step<()> {
        let items = self.items_from_mark()?;
        self.push(Value::Tuple(items));
        Ok(())
    }

    fn tuple_of(&mut self, len: usize) -> Step<()> {
        let mut items = Vec::with_capacity(len);
        for _ in 0..len {
            items.push(self.pop()?);
        }
        items.reverse();
        self.push(Value::Tuple(items));
        Ok(())
    }

    fn line(&mut self) -> Step<&'a str> {
        let rest = self.bytes.get(self.pos..).unwrap_or(&[]);
        let len = rest.iter().position(|&b| b == b'\n').ok_or("the pickle ends early")?;
        let line = self.slice(len)?;
        self.pos += 1;
        std::str::from_utf8(line).map_err(|_| "a class name is not UTF-8".to_owned())
    }

    fn class(&mut self) -> Step<()> {
        let (module, name) = (self.line()?, self.line()?);
        let class = Class::known(module, name);
        let class = class.ok_or_else(|| {
            format!(
                "names {module}.{name}, which does not belong in a graph file; it is not loaded"
            )
        })?;
        self.push(Value::Class(class));
        Ok(())
    }

    /// Reads the tuple ('storage', class, key, 'cpu', number of elements).
    fn storage(&mut self) -> Step<()> {
        let id = self.pop()?;
        let storage = match self.tuple(id) {
            Some([tag, class, key, _device, len]) => match (tag, class, key, len) {
                (
                    Value::Text("storage"),
                    Value::Class(Class::Storage(dtype)),
                    Value::Text(key),
                    Value::Int(len),
                ) => {
                    let len = u64::try_from(*len).map_err(|_| "a storage has a negative size")?;
                    Some(PickleStorage { dtype: *dtype, key, len })
                }
                _ => None,
            },
            _ => None,
        };
        let storage = storage.ok_or("a storage is not described as torch describes it")?;
        self.push(Value::Storage(Box::new(storage)));
        Ok(())
    }

    fn new_object(&mut self) -> Step<()> {
        let (arguments, class) = (self.pop()?, self.pop()?);
        let class = match (&self.values[class], &self.values[arguments]) {
            (Value::Class(class @ (Class::FusedCsc | Class::ScriptObject)), Value::Tuple(none))
                if none.is_empty() =>
            {
                *class
            }
            _ => return Err("creates an object that is not a graph".to_owned()),
        };
        self.push(Value::Object { class, state: None });
        Ok(())
    }

    fn call(&mut self) -> Step<()> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let result = match &self.values[function] {
            Value::Class(Class::OrderedDict) => Value::Dict(Vec::new()),
            Value::Class(Class::RebuildTensor) => Value::Tensor(Box::new(self.tensor(arguments)?)),
            _ => return Err("calls a function that does not belong in a graph file".to_owned()),
        };
        self.push(result);
        Ok(())
    }

    /// Reads the tuple (storage, offset, size, stride, requires_grad, hooks).
    fn tensor(&self, arguments: Index) -> Step<Tensor<'a>> {
        let Some([Value::Storage(storage), Value::Int(offset), size, stride, _grad, _hooks]) =
            self.tuple(arguments)
        else {
            return Err("a tensor is not described as torch describes it".to_owned());
        };
        let (size, stride) = (self.sizes(size)?, self.sizes(stride)?);
        let offset = u64::try_from(*offset).map_err(|_| "a tensor starts at a negative offset")?;
        Ok(Tensor { storage: PickleStorage::clone(storage), offset, size, stride })
    }

    fn sizes(&self, tuple: &Value<'a>) -> Step<Vec<u64>> {
        let Value::Tuple(items) = tuple else {
            return Err("a tensor's sizes are not a tuple".to_owned());
        };
        let sizes = items.iter().map(|&item| match self.values[item] {
            Value::Int(size) => u64::try_from(size).ok(),
            _ => None,
        });
        sizes
            .collect::<Option<_>>()
            .ok_or_else(|| "a tensor's size is not a whole number".to_owned())
    }

    fn build(&mut self) -> Step<()> {
        let (state, object) = (self.pop()?, self.pop()?);
        match &mut self.values[object] {
            Value::Object { state: slot, .. } => *slot = Some(state),
            _ => return Err("gives a state to a value that is not an object".to_owned()),
        }
        self.stack.push(object);
        Ok(())
    }

    fn set_items(&mut self, items: Vec<Index>) -> Step<()> {
        let dict = self.pop()?;
        let (pairs, odd) = items.as_chunks::<2>();
        match &mut self.values[dict] {
            Value::Dict(entries) if odd.is_empty() => {
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)));
            }
            _ => return Err("sets items of a value that is not a dictionary".to_owned()),
        }
        self.stack.push(dict);
        Ok(())
    }

    /// The members of a tuple of length `N`.
    fn tuple<const N: usize>(&self, index: Index) -> Option<[&Value<'a>; N]> {
        let Value::Tuple(items) = &self.values[index] else { return None };
        let items: [Index; N] = items.as_slice().try_into().ok()?;
        Some(items.map(|item| &self.values[item]))
    }
}
