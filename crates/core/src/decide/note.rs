//! What the next leader is to know: how far events were told to others, and the like.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::Name;
use crate::model::limits::NOTES_MAX;
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn note(&mut self, name: Name, value: Name) -> Result<Answer, Rejection> {
        let known = self.state.notes.get(&name);
        if known.is_none() && self.state.notes.len() >= NOTES_MAX {
            return Err(Rejection::TooManyNotes { max: NOTES_MAX });
        }
        if known != Some(&value) {
            self.emit(Event::Noted { name, value });
        }
        Ok(Answer::Done)
    }
}
