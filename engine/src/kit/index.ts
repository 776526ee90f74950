// The package's main entry: `import { defineHandler } from 'claimcheck'`.
export { defineProvider } from '../providers/define.ts';
export type { Provider } from '../providers/types.ts';
export {
  Cancel,
  defineEffect,
  defineEffects,
  Effect,
  type EffectKind,
  type EffectLimit,
  type EffectOptions,
  type EffectTools,
  type EffectWaits,
} from './effect.ts';
export { PermanentError, RetryLater } from './errors.ts';
export {
  type Change,
  defineHandler,
  defineHandlers,
  type Event,
  type Handler,
  type HandlerList,
  type Handlers,
  Must,
  must,
  newer,
  type Tools,
} from './handler.ts';
export { currentState, errorFromResponse } from './http.ts';
export * from './register.ts';
export {
  defineSamples,
  defineSources,
  type OutsideAnswer,
  type OutsideCall,
  type SampleBody,
  type Samples,
  type Seed,
  type Source,
} from './source.ts';
export { typed } from './typed.ts';
