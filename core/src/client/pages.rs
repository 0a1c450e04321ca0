//! A list: its pages, one after the other, and what becomes of it where its session is replaced in between.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::call::engine::Engine;
use crate::call::run::{list_finished, paging_failed, run_page};
use crate::call::spec::{PageOf, Spec};
use crate::policy::decide::{Counts, SESSION_LOSSES};
use crate::protocol::era::Lifecycle;
use crate::protocol::parameter_headers;
use crate::protocol::results::{FromRaw, ListResult, Listed, Page, Tool};
use crate::rpc::params::raw_string;
use crate::vocabulary::clock::CallClock;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::method::Method;

/// A list cannot be read when its session is replaced more often than a call lives through.
const REPLACED: &str = "the session was replaced again and again while the list was read";

/// Reads a list.
pub(super) struct Pages<'a> {
    engine: &'a Arc<Engine>,
    spec: Spec,
    clock: Arc<CallClock>,
    counts: Counts,
}

impl<'a> Pages<'a> {
    pub(super) fn new(engine: &'a Arc<Engine>, spec: Spec, clock: Arc<CallClock>) -> Self {
        Self { engine, spec, clock, counts: Counts::default() }
    }

    /// One page, and the generation of the session that it came on. `None` if the session of the list's cursor is no longer the current one.
    async fn page<T: Listed>(&mut self, cursor: Option<&str>, page: PageOf) -> Result<Option<(Page, u64)>, Error> {
        let mut spec = self.spec.clone();
        spec.page = Some(page);
        // An empty cursor is a cursor (MCP 2025-11-25, server, utilities, pagination: cursors are opaque).
        if let Some(cursor) = cursor {
            spec.params.set("cursor", raw_string(cursor));
        }
        let engine = Arc::clone(self.engine);
        let answered = run_page(engine, spec, Arc::clone(&self.clock), &mut self.counts).await?;
        Ok(answered.map(|answered| {
            let mut page = Page::of(&answered.raw, T::MEMBER);
            if self.spec.method == Method::LIST_TOOLS && answered.lifecycle == Lifecycle::Modern {
                page.items.retain(|tool| self.is_usable(tool));
            }
            (page, answered.generation)
        }))
    }

    /// A tool whose schema asks for headers in a way that cannot be followed must not be offered (MCP 2026-07-28, transports, Streamable
    /// HTTP, "Custom headers from tool parameters"). What is left out is an event.
    fn is_usable(&self, tool: &RawValue) -> bool {
        let tool = Tool::from_raw(tool.to_owned());
        let Some(problem) = tool.input_schema.and_then(|schema| parameter_headers::annotations(&schema).err()) else {
            return true;
        };
        let event = Event::new(EventName::ToolDropped).because(problem);
        let method = Some(self.spec.method.to_string());
        self.engine.wire.events.emit(Event { method, name: Some(tool.name), ..event });
        false
    }

    /// The one page that begins here.
    pub(super) async fn one<T: Listed>(&mut self, cursor: &str) -> Result<ListResult<T>, Error> {
        let given_in = self.engine.cursors.given_in(&self.spec.method, cursor);
        match self.page::<T>(Some(cursor), PageOf { generation: given_in, of_caller: true }).await? {
            Some((mut page, generation)) => {
                let items = std::mem::take(&mut page.items);
                Ok(self.listed(items, page, generation))
            }
            None => Err(paging_failed(self.engine, &self.spec, REPLACED)),
        }
    }

    /// All pages. If the session is replaced in between, the list starts again at its first page.
    pub(super) async fn all<T: Listed>(&mut self) -> Result<ListResult<T>, Error> {
        let tools = Arc::clone(&self.engine.tools);
        for _ in 0..=SESSION_LOSSES {
            let epoch = tools.epoch();
            let Some((page, generation)) = self.page::<T>(None, PageOf::default()).await? else { continue };
            if let Some((items, last)) = self.rest::<T>(page, generation).await? {
                if self.spec.method == Method::LIST_TOOLS && last.next_cursor.is_none() {
                    tools.record(generation, epoch, items.iter().map(|item| &**item));
                }
                return Ok(self.listed(items, last, generation));
            }
        }
        Err(paging_failed(self.engine, &self.spec, REPLACED))
    }

    /// The items of this page and of those after it, and the last page. `None` if the session was replaced in between.
    async fn rest<T: Listed>(
        &mut self,
        first: Page,
        generation: u64,
    ) -> Result<Option<(Vec<Box<RawValue>>, Page)>, Error> {
        let mut page = first;
        let mut items = std::mem::take(&mut page.items);
        let mut seen = HashSet::new();
        // A bound that is hit is told by the `next_cursor` of the result.
        for _ in 1..self.engine.settings.max_pages {
            let Some(cursor) = page.next_cursor.clone() else { break };
            if !seen.insert(cursor.clone()) {
                return Err(paging_failed(self.engine, &self.spec, "the server gave the same cursor twice"));
            }
            match self.page::<T>(Some(&cursor), PageOf { generation: Some(generation), of_caller: false }).await? {
                Some((next, _)) => page = next,
                None => return Ok(None),
            }
            items.append(&mut page.items);
        }
        Ok(Some((items, page)))
    }

    fn listed<T: Listed>(&self, items: Vec<Box<RawValue>>, last: Page, generation: u64) -> ListResult<T> {
        if let Some(cursor) = &last.next_cursor {
            self.engine.cursors.give(&self.spec.method, cursor, generation);
        }
        list_finished(self.engine, &self.spec);
        ListResult::of(items, last)
    }
}
