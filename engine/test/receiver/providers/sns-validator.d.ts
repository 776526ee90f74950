declare module 'sns-validator' {
  export default class MessageValidator {
    validate(message: string, callback: (error: unknown) => void): void;
  }
}
